//! Seccomp: system calls that a confined process does without. Sockets, because Landlock knows only TCP; and calls that reach
//! around files and namespaces, for the case that the user is root.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen::Dword, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::policy::{Network, Policy};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Packets of a device; its constant in `libc` is deprecated, and the kernel still knows it.
const SOCK_PACKET: i32 = 10;

/// The port of name servers.
const NAMES: u16 = 53;

/// Never needed to build or test something, and each a way around a rule.
const DENIED: &[i64] = &[
    // Rings of I/O requests open sockets and files without a call that could be filtered.
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

/// Restricts this process for good.
pub(super) fn restrict(policy: &Policy) -> io::Result<()> {
    // "Network is down" tells a program, and whoever reads its output, more than a missing permission would.
    apply(network(policy)?, libc::ENETDOWN)?;
    let mut denied: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    if !policy.unix_sockets {
        denied.insert(libc::SYS_socket, vec![rule(&[(0, Op::Eq, libc::AF_UNIX)])?]);
    }
    apply(denied, libc::EPERM)
}

/// The calls of sockets that are no Unix sockets.
fn network(policy: &Policy) -> io::Result<Rules> {
    let internet = || (0, Op::Ne, libc::AF_UNIX);
    let ports = match &policy.network {
        Network::All => return Ok(Rules::new()),
        Network::Off => return Ok(Rules::from([(libc::SYS_socket, vec![rule(&[internet()])?])])),
        Network::Ports(ports) => ports,
    };
    let kind = |kind: i32| (1, Op::MaskedEq(0xf), kind);
    let mut denied = vec![
        rule(&[internet(), (0, Op::Ne, libc::AF_INET), (0, Op::Ne, libc::AF_INET6)])?,
        // Landlock limits TCP, and no other protocol of streams.
        rule(&[internet(), kind(libc::SOCK_STREAM), (2, Op::Ne, 0), (2, Op::Ne, libc::IPPROTO_TCP)])?,
    ];
    for other in [libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, libc::SOCK_DCCP, SOCK_PACKET] {
        denied.push(rule(&[internet(), kind(other)])?);
    }
    if !ports.contains(&NAMES) {
        denied.push(rule(&[internet(), kind(libc::SOCK_DGRAM)])?);
    }
    // Connects without a call to connect, which is where Landlock looks.
    let fast = |at: u8| rule(&[(at, Op::MaskedEq(libc::MSG_FASTOPEN as u64), libc::MSG_FASTOPEN)]);
    Ok(Rules::from([
        (libc::SYS_socket, denied),
        (libc::SYS_sendto, vec![fast(3)?]),
        (libc::SYS_sendmsg, vec![fast(2)?]),
        (libc::SYS_sendmmsg, vec![fast(3)?]),
    ]))
}

/// Matches if all of its conditions do: which argument, how it is compared, and with what.
fn rule(conditions: &[(u8, Op, i32)]) -> io::Result<SeccompRule> {
    let conditions = conditions.iter().map(|(at, op, value)| {
        SeccompCondition::new(*at, Dword, op.clone(), u64::from(value.cast_unsigned()))
    });
    let conditions = conditions.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn apply(rules: Rules, error: i32) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    let target = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let (fail, pass) = (SeccompAction::Errno(error.cast_unsigned()), SeccompAction::Allow);
    let filter = SeccompFilter::new(with_x32(rules), pass, fail, target).map_err(io::Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

/// Some kernels know every call under a second number.
fn with_x32(mut rules: Rules) -> Rules {
    const X32: i64 = 0x4000_0000;
    if cfg!(target_arch = "x86_64") {
        let second: Rules = rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
        rules.extend(second);
    }
    rules
}
