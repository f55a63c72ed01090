//! The order of the words in `_Py_DebugOffsets`, the table by which CPython describes its structures to tools, in each
//! version that has one (`Include/internal/pycore_runtime.h` in 3.13, `pycore_debug_offsets.h` later). Behind the last
//! group that is needed nothing is listed.

/// A structure and its fields, in order.
type Group = (&'static str, &'static [&'static str]);

/// Words before the first group: the cookie, the version, and whether there is no global lock.
pub(super) const FIRST: u64 = 3;

const PYTHON_3_13: &[Group] = &[
    ("runtime_state", &["size", "finalizing", "interpreters_head"]),
    (
        "interpreter_state",
        &[
            "size",
            "id",
            "next",
            "threads_head",
            "gc",
            "imports_modules",
            "sysdict",
            "builtins",
            "ceval_gil",
            "gil_runtime_state",
            "gil_runtime_state_enabled",
            "gil_runtime_state_locked",
            "gil_runtime_state_holder",
        ],
    ),
    (
        "thread_state",
        &[
            "size",
            "prev",
            "next",
            "interp",
            "current_frame",
            "thread_id",
            "native_thread_id",
            "datastack_chunk",
            "status",
        ],
    ),
    ("interpreter_frame", &["size", "previous", "executable", "instr_ptr", "localsplus", "owner"]),
    (
        "code_object",
        &[
            "size",
            "filename",
            "name",
            "qualname",
            "linetable",
            "firstlineno",
            "argcount",
            "localsplusnames",
            "localspluskinds",
            "co_code_adaptive",
        ],
    ),
    ("pyobject", &["size", "ob_type"]),
    ("type_object", &["size", "tp_name", "tp_repr", "tp_flags"]),
    ("tuple_object", &["size", "ob_item", "ob_size"]),
    ("list_object", &["size", "ob_item", "ob_size"]),
    ("dict_object", &["size", "ma_keys", "ma_values"]),
    ("float_object", &["size", "ob_fval"]),
    ("long_object", &["size", "lv_tag", "ob_digit"]),
    ("bytes_object", &["size", "ob_size", "ob_sval"]),
    ("unicode_object", &["size", "state", "length", "asciiobject_size"]),
];

const PYTHON_3_14: &[Group] = &[
    ("runtime_state", &["size", "finalizing", "interpreters_head"]),
    (
        "interpreter_state",
        &[
            "size",
            "id",
            "next",
            "threads_head",
            "threads_main",
            "gc",
            "imports_modules",
            "sysdict",
            "builtins",
            "ceval_gil",
            "gil_runtime_state",
            "gil_runtime_state_enabled",
            "gil_runtime_state_locked",
            "gil_runtime_state_holder",
            "code_object_generation",
            "tlbc_generation",
        ],
    ),
    (
        "thread_state",
        &[
            "size",
            "prev",
            "next",
            "interp",
            "current_frame",
            "thread_id",
            "native_thread_id",
            "datastack_chunk",
            "status",
        ],
    ),
    (
        "interpreter_frame",
        &["size", "previous", "executable", "instr_ptr", "localsplus", "owner", "stackpointer", "tlbc_index"],
    ),
    (
        "code_object",
        &[
            "size",
            "filename",
            "name",
            "qualname",
            "linetable",
            "firstlineno",
            "argcount",
            "localsplusnames",
            "localspluskinds",
            "co_code_adaptive",
            "co_tlbc",
        ],
    ),
    ("pyobject", &["size", "ob_type"]),
    ("type_object", &["size", "tp_name", "tp_repr", "tp_flags"]),
    ("tuple_object", &["size", "ob_item", "ob_size"]),
    ("list_object", &["size", "ob_item", "ob_size"]),
    ("set_object", &["size", "used", "table", "mask"]),
    ("dict_object", &["size", "ma_keys", "ma_values"]),
    ("float_object", &["size", "ob_fval"]),
    ("long_object", &["size", "lv_tag", "ob_digit"]),
    ("bytes_object", &["size", "ob_size", "ob_sval"]),
    ("unicode_object", &["size", "state", "length", "asciiobject_size"]),
];

const PYTHON_3_15: &[Group] = &[
    ("runtime_state", &["size", "finalizing", "interpreters_head"]),
    (
        "interpreter_state",
        &[
            "size",
            "id",
            "next",
            "threads_head",
            "threads_main",
            "gc",
            "imports_modules",
            "sysdict",
            "builtins",
            "ceval_gil",
            "gil_runtime_state",
            "gil_runtime_state_enabled",
            "gil_runtime_state_locked",
            "gil_runtime_state_holder",
            "code_object_generation",
            "tlbc_generation",
        ],
    ),
    (
        "thread_state",
        &[
            "size",
            "prev",
            "next",
            "interp",
            "current_frame",
            "base_frame",
            "last_profiled_frame",
            "last_profiled_frame_seq",
            "thread_id",
            "native_thread_id",
            "datastack_chunk",
            "status",
            "holds_gil",
            "gil_requested",
            "current_exception",
            "exc_state",
        ],
    ),
    ("err_stackitem", &["exc_value"]),
    (
        "interpreter_frame",
        &["size", "previous", "executable", "instr_ptr", "localsplus", "owner", "stackpointer", "tlbc_index"],
    ),
    (
        "code_object",
        &[
            "size",
            "filename",
            "name",
            "qualname",
            "linetable",
            "firstlineno",
            "argcount",
            "localsplusnames",
            "localspluskinds",
            "co_code_adaptive",
            "co_tlbc",
        ],
    ),
    ("pyobject", &["size", "ob_type"]),
    ("type_object", &["size", "tp_name", "tp_repr", "tp_flags", "tp_basicsize", "tp_dictoffset"]),
    ("heap_type_object", &["size", "ht_cached_keys"]),
    ("tuple_object", &["size", "ob_item", "ob_size"]),
    ("list_object", &["size", "ob_item", "ob_size"]),
    ("set_object", &["size", "used", "table", "mask"]),
    ("dict_object", &["size", "ma_keys", "ma_values"]),
    ("float_object", &["size", "ob_fval"]),
    ("long_object", &["size", "lv_tag", "ob_digit"]),
    ("bytes_object", &["size", "ob_size", "ob_sval"]),
    ("unicode_object", &["size", "state", "length", "asciiobject_size", "compactunicodeobject_size"]),
];

/// The order of a version, by its number in hexadecimal (3.14 is 0x030e); `None` where that is not known.
pub(super) fn order(version: u64) -> Option<&'static [Group]> {
    match version {
        0x030d => Some(PYTHON_3_13),
        0x030e => Some(PYTHON_3_14),
        0x030f => Some(PYTHON_3_15),
        _ => None,
    }
}

/// The number of a field's word, from the first group on.
pub(super) fn position(order: &[Group], group: &str, field: &str) -> Option<u64> {
    let mut fields =
        order.iter().flat_map(|(group, fields)| fields.iter().map(move |field| (*group, *field)));
    fields.position(|found| found == (group, field)).and_then(|position| u64::try_from(position).ok())
}
