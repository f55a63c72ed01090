// A case in a process of its own, under a watchdog. A stuck kernel dies with its process and not before, so the
// watchdog kills; and a process that has called CUDA cannot fork one that does, so the parent never calls it.
#pragma once
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct Outcome {
  bool killed = false;   // by the watchdog
  int code = -1;         // exit code, or 128 + signal
  std::string text;      // what the case reported
};

inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

// Runs `body(report)` in a child; `report` goes to the parent, and a line or two fit.
template <typename Body> Outcome watched(double seconds, Body body) {
  Outcome outcome;
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) {
    outcome.text = strerror(errno);
    return outcome;
  }
  // What is buffered now would be written twice.
  fflush(nullptr);
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    close(pipe_ends[0]);
    FILE *report = fdopen(pipe_ends[1], "w");
    int code = body(report);
    // A report in a buffer is lost when the process ends early.
    fflush(nullptr);
    _exit(code);
  }
  close(pipe_ends[1]);
  if (child < 0) {
    outcome.text = strerror(errno);
    close(pipe_ends[0]);
    return outcome;
  }
  int status = 0;
  double deadline = now() + seconds;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (now() >= deadline && !outcome.killed) {
      outcome.killed = true;
      kill(child, SIGKILL);
    }
    usleep(100 * 1000);
  }
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  char buffer[4096];
  for (ssize_t got; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    outcome.text.append(buffer, got);
  close(pipe_ends[0]);
  while (!outcome.text.empty() && outcome.text.back() == '\n')
    outcome.text.pop_back();
  return outcome;
}
