# Training loops with side streams; usage: training.py KIND STEPS [missing|norecord|...]
import sys, time, torch
kind, steps, fault = sys.argv[1], int(sys.argv[2]), (sys.argv[3] if len(sys.argv) > 3 else "")
F = torch.nn.functional
torch.manual_seed(0)
side = torch.cuda.Stream()
main = torch.cuda.current_stream()

def prefetching(make, labels, model, optimizer, loss_of, amp=False):
    data = [make().pin_memory() for _ in range(8)]
    labels = [labels().pin_memory() for _ in range(8)]
    def fetch(step):
        with torch.cuda.stream(side):
            x = data[step % 8].to("cuda", non_blocking=True) * 0.5
            y = labels[step % 8].to("cuda", non_blocking=True)
        return x, y
    def train(steps):
        coming = fetch(0)
        for step in range(steps):
            if fault != "missing":
                torch.cuda.current_stream().wait_stream(side)
            x, y = coming
            if fault != "norecord":
                x.record_stream(torch.cuda.current_stream()); y.record_stream(torch.cuda.current_stream())
            coming = fetch(step + 1)
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=amp):
                loss = loss_of(model, x, y)
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            del x, y
        torch.cuda.synchronize()
        return loss.item()
    return train

if kind == "mlp":
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    train = prefetching(lambda: torch.randn(64, 256), lambda: torch.randint(0, 10, (64,)), model, optimizer, lambda m, x, y: F.cross_entropy(m(x), y))
elif kind == "conv":
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train = prefetching(lambda: torch.randn(32, 3, 32, 32), lambda: torch.randint(0, 10, (32,)), model, optimizer, lambda m, x, y: F.cross_entropy(m(x), y), amp=True)
elif kind == "gpt":
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = torch.nn.Embedding(1000, 128)
            layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True, norm_first=True)
            self.body = torch.nn.TransformerEncoder(layer, 2)
            self.head = torch.nn.Linear(128, 1000)
        def forward(self, x):
            return self.head(self.body(self.emb(x)))
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = lambda: torch.randint(0, 1000, (8, 64))
    data = [ids().pin_memory() for _ in range(8)]
    def train(steps):
        with torch.cuda.stream(side):
            coming = data[0].to("cuda", non_blocking=True)
        for step in range(steps):
            if fault != "missing": torch.cuda.current_stream().wait_stream(side)
            x = coming; x.record_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side): coming = data[(step + 1) % 8].to("cuda", non_blocking=True)
            loss = F.cross_entropy(model(x).reshape(-1, 1000), x.reshape(-1))
            optimizer.zero_grad(set_to_none=True); loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step(); del x
        torch.cuda.synchronize(); return loss.item()
elif kind == "branches":
    # Two branches on two streams that share an input and the weights, joined again; activations leave on a third.
    w = torch.randn(256, 256, device="cuda"); out = torch.cuda.Stream(); host = torch.empty(128, 256).pin_memory()
    def train(steps):
        s = torch.zeros((), device="cuda")
        for step in range(steps):
            x = torch.randn(128, 256, device="cuda")
            if fault != "missing": side.wait_stream(main)
            with torch.cuda.stream(side):
                a = torch.tanh(x @ w); x.record_stream(side)
            b = torch.sigmoid(x @ w)
            if fault != "early": main.wait_stream(side)
            a.record_stream(main)
            c = a + b
            out.wait_stream(main)
            with torch.cuda.stream(out):
                host.copy_(c, non_blocking=True); c.record_stream(out)
            s = s + c.mean()
            out.synchronize()
        torch.cuda.synchronize(); return s.item()
elif kind == "graph":
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    sx, sy = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    side.wait_stream(main)
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad(set_to_none=True); F.cross_entropy(model(sx), sy).backward(); optimizer.step()
    main.wait_stream(side)
    g = torch.cuda.CUDAGraph(); optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(g):
        loss = F.cross_entropy(model(sx), sy); loss.backward(); optimizer.step()
    data = [torch.randn(64, 256).pin_memory() for _ in range(8)]
    up = torch.cuda.Stream()
    def train(steps):
        for step in range(steps):
            if fault != "early": up.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(up): sx.copy_(data[step % 8], non_blocking=True)
            if fault != "missing": torch.cuda.current_stream().wait_stream(up)
            g.replay()
        torch.cuda.synchronize(); return loss.item()
train(20)
if len(sys.argv) > 5:
    with open(sys.argv[4]) as told, open(sys.argv[5], "w") as out:
        for line in told:
            begin = time.perf_counter(); train(steps)
            out.write("%.2f\n" % ((time.perf_counter() - begin) / steps * 1e6)); out.flush()
else:
    loss = train(steps)
    print("loss %.4f" % loss)
