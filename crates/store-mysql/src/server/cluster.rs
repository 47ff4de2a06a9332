//! A Galera cluster of three local servers. Each can be killed, frozen, and brought back.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::{MariaDbServer, START_TIMEOUT, copy_folder, free_port, install};

/// The number of nodes. If two of them fail, there is no majority.
const NODE_COUNT: usize = 3;

/// How long the cluster waits for a silent node: shorter than the default, so that tests of faults take less time.
const NODE_TIMEOUTS: &str = "evs.suspect_timeout=PT3S;evs.inactive_timeout=PT5S;evs.install_timeout=PT5S";

/// The state transfer script, which both the receiving and the sending node run. All nodes start with the same data, so the
/// script transfers only the position up to which the sender provides the missing transactions.
const TRANSFER_SCRIPT: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
        --role) role=$2; shift ;;
        --address) address=$2; shift ;;
        --datadir) data=$2; shift ;;
        --gtid) gtid=$2; shift ;;
        --bypass) bypass=1 ;;
    esac
    shift
done
if [ "$role" = donor ]; then
    [ -n "$bypass" ] || exit 1
    echo "$gtid 0" >"$address.part" && mv "$address.part" "$address" && echo "done $gtid"
else
    file=${data%/}/state-transfer
    rm -f "$file"
    echo "ready $file"
    for i in $(seq 600); do
        [ -f "$file" ] && cat "$file" && exit
        sleep 0.1
    done
    exit 1
fi
"#;

/// A Galera cluster on this machine.
#[derive(Debug)]
pub struct GaleraCluster {
    servers: Vec<MariaDbServer>,
}

impl GaleraCluster {
    pub fn start() -> io::Result<GaleraCluster> {
        let (program, library) = (install::find_or_install()?, install::galera_library()?);
        let ports =
            (0..NODE_COUNT).map(|_| Ok((free_port()?, free_port()?))).collect::<io::Result<Vec<_>>>()?;
        let group: Vec<String> = ports.iter().map(|(port, _)| format!("127.0.0.1:{port}")).collect();
        let mut servers = Vec::new();
        for (number, (group_port, transfer_port)) in ports.iter().enumerate() {
            let options = [
                "--wsrep-on=ON".to_owned(),
                "--binlog-format=ROW".to_owned(),
                "--innodb-autoinc-lock-mode=2".to_owned(),
                "--wsrep-cluster-name=osier".to_owned(),
                "--wsrep-sst-method=osier".to_owned(),
                format!("--wsrep-provider={}", library.display()),
                format!("--wsrep-node-name=node{number}"),
                format!("--wsrep-node-address=127.0.0.1:{group_port}"),
                format!("--wsrep-cluster-address=gcomm://{}", group.join(",")),
                format!(
                    "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{group_port};\
                     ist.recv_addr=127.0.0.1:{transfer_port};gcache.size=128M;{NODE_TIMEOUTS}"
                ),
            ];
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let server = MariaDbServer::new(program.clone(), &options)?;
            let script = server.folder.join("wsrep_sst_osier");
            fs::write(&script, TRANSFER_SCRIPT)?;
            fs::set_permissions(script, fs::Permissions::from_mode(0o755))?;
            servers.push(server);
        }
        let cluster = GaleraCluster { servers };
        cluster.bootstrap()?;
        Ok(cluster)
    }

    pub fn servers(&self) -> &[MariaDbServer] {
        &self.servers
    }

    /// Starts all nodes with a copy of the same data, so that no node needs a full transfer.
    fn bootstrap(&self) -> io::Result<()> {
        let [first, others @ ..] = self.servers.as_slice() else { return Ok(()) };
        first.restart_with(&["--wsrep-new-cluster".to_owned()])?;
        first.stop()?;
        for other in others {
            let data = other.folder.join("data");
            fs::remove_dir_all(&data)?;
            copy_folder(&first.folder.join("data"), &data)?;
            for own in ["galera.cache", "gvwstate.dat"] {
                let _ = fs::remove_file(data.join(own));
            }
        }
        first.restart_with(&["--wsrep-new-cluster".to_owned()])?;
        others.iter().try_for_each(MariaDbServer::restart)
    }

    /// Restarts a killed node. It gets the transactions that it missed from the others.
    pub fn rejoin(&self, number: usize) -> io::Result<()> {
        let server = &self.servers[number];
        let position = server.recovered_position()?;
        server.restart_with(&[format!("--wsrep-start-position={position}")])
    }
}

impl MariaDbServer {
    /// Shuts the server down cleanly, so that its data are consistent.
    fn stop(&self) -> io::Result<()> {
        self.signal("-TERM")?;
        let started = Instant::now();
        while self.folder.join("pid").exists() {
            if started.elapsed() > START_TIMEOUT {
                return Err(io::Error::other("the server did not stop"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.kill()
    }

    /// The position of its last transaction, as `UUID:NUMBER`.
    fn recovered_position(&self) -> io::Result<String> {
        let output = self.command().arg("--wsrep-recover").output()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let position =
            text.rsplit("Recovered position:").next().and_then(|rest| rest.split_whitespace().next());
        match position {
            Some(position) if text.contains("Recovered position:") => Ok(position.to_owned()),
            _ => Err(io::Error::other(format!("no position in {text}"))),
        }
    }
}
