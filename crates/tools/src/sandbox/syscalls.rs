//! Seccomp: blocks system calls in a sandboxed process. It blocks sockets, because Landlock covers only TCP, and calls that bypass
//! file rules and namespaces, in case the user is root.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::policy::{MountMethod, NetworkAccess, SandboxPolicy};

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Deprecated in `libc`, but the kernel still supports it.
const SOCK_PACKET: i32 = 10;

/// The DNS port.
const DNS_PORT: u16 = 53;

/// Not needed for building or testing, and each could bypass a rule.
const DENIED_CALLS: &[i64] = &[
    // io_uring opens sockets and files without system calls that could be filtered.
    libc::SYS_io_uring_setup,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
];

/// Shared memory, semaphores and message queues of the user's other programs. A namespace separates them; without one, they are
/// denied.
const SHARED_MEMORY_CALLS: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
];

/// Restricts this process permanently.
pub(super) fn restrict(policy: &SandboxPolicy) -> io::Result<()> {
    // "Network is down" is a clearer error message than a missing permission.
    apply_filter(network_rules(policy)?, libc::ENETDOWN)?;
    let mut denied: SyscallRules = DENIED_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    if policy.mounts == MountMethod::None {
        denied.extend(SHARED_MEMORY_CALLS.iter().map(|call| (*call, Vec::new())));
    }
    // A limit of CPU time or of file sizes ends another process like a signal. 0 is the process itself.
    denied.insert(libc::SYS_prlimit64, vec![rule(&[(0, Op::Ne, 0)])?]);
    if !policy.unix_sockets {
        denied.insert(libc::SYS_socket, vec![rule(&[(0, Op::Eq, libc::AF_UNIX)])?]);
    }
    apply_filter(denied, libc::EPERM)
}

/// Forbids this process to start programs and to look into others.
pub(super) fn forbid_programs() -> io::Result<()> {
    let calls = [
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
    ];
    apply_filter(calls.into_iter().map(|call| (call, Vec::new())).collect(), libc::EPERM)
}

/// Rules for sockets other than Unix sockets.
fn network_rules(policy: &SandboxPolicy) -> io::Result<SyscallRules> {
    let internet = || (0, Op::Ne, libc::AF_UNIX);
    let ports = match &policy.network {
        NetworkAccess::All => return Ok(SyscallRules::new()),
        NetworkAccess::Off => {
            return Ok(SyscallRules::from([(libc::SYS_socket, vec![rule(&[internet()])?])]));
        }
        NetworkAccess::Ports(ports) => ports,
    };
    let kind = |kind: i32| (1, Op::MaskedEq(0xf), kind);
    let mut denied = vec![
        rule(&[internet(), (0, Op::Ne, libc::AF_INET), (0, Op::Ne, libc::AF_INET6)])?,
        // Landlock limits only TCP, no other stream protocols.
        rule(&[internet(), kind(libc::SOCK_STREAM), (2, Op::Ne, 0), (2, Op::Ne, libc::IPPROTO_TCP)])?,
    ];
    for other in [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP, SOCK_PACKET] {
        denied.push(rule(&[internet(), kind(other)])?);
    }
    if !ports.contains(&DNS_PORT) {
        denied.push(rule(&[internet(), kind(libc::SOCK_DGRAM)])?);
    }
    // TCP Fast Open connects without a call to `connect`, which is what Landlock checks.
    let fast = |at: u8| rule(&[(at, Op::MaskedEq(libc::MSG_FASTOPEN as u64), libc::MSG_FASTOPEN)]);
    Ok(SyscallRules::from([
        (libc::SYS_socket, denied),
        (libc::SYS_sendto, vec![fast(3)?]),
        (libc::SYS_sendmsg, vec![fast(2)?]),
        (libc::SYS_sendmmsg, vec![fast(3)?]),
    ]))
}

/// A rule that matches if all conditions match. A condition is an argument index, an operator and a value.
fn rule(conditions: &[(u8, Op, i32)]) -> io::Result<SeccompRule> {
    let conditions = conditions.iter().map(|(at, op, value)| {
        SeccompCondition::new(*at, Dword, op.clone(), u64::from(value.cast_unsigned()))
    });
    let conditions = conditions.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn apply_filter(rules: SyscallRules, error: i32) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    let target = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let (fail, pass) = (SeccompAction::Errno(error.cast_unsigned()), SeccompAction::Allow);
    let filter = SeccompFilter::new(with_x32(rules), pass, fail, target).map_err(io::Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

/// Adds the x32 numbers, under which some x86-64 kernels offer every call again.
fn with_x32(mut rules: SyscallRules) -> SyscallRules {
    const X32: i64 = 0x4000_0000;
    if cfg!(target_arch = "x86_64") {
        let second: SyscallRules = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(second);
    }
    rules
}
