//! The packets of the MySQL connection handshake, as far as [`relay`](crate::relay) inspects them.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// A longer packet is not part of a valid handshake.
const MAX_HANDSHAKE_PACKET: usize = 64 << 10;

/// Length and sequence number.
const HEADER_BYTES: usize = 4;

/// Capability bits.
const SSL: u32 = 1 << 11;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;

/// Methods that send the password itself. `sha256_password` sends it as is over TLS, and otherwise encrypted with a key that
/// the server chooses.
const CLEAR_PASSWORD_METHODS: [&[u8]; 2] = [b"mysql_clear_password", b"sha256_password"];

/// One packet with its header.
#[derive(Debug, Clone)]
pub(crate) struct Packet(Vec<u8>);

impl Packet {
    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Packet> {
        let mut header = [0; HEADER_BYTES];
        from.read_exact(&mut header).await?;
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        // The driver does not expect packets of less than two bytes.
        if !(2..=MAX_HANDSHAKE_PACKET).contains(&length) {
            return Err(malformed());
        }
        let mut bytes = header.to_vec();
        bytes.resize(HEADER_BYTES + length, 0);
        from.read_exact(&mut bytes[HEADER_BYTES..]).await?;
        Ok(Packet(bytes))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn payload(&self) -> &[u8] {
        &self.0[HEADER_BYTES..]
    }

    /// The server rejects or closes the connection.
    pub(crate) fn is_error(&self) -> bool {
        self.payload()[0] == 0xff
    }

    pub(crate) fn is_ok(&self) -> bool {
        self.payload()[0] == 0x00
    }

    /// The server requests another method, and the client must respond.
    pub(crate) fn is_auth_switch(&self) -> bool {
        self.payload()[0] == 0xfe
    }

    /// Whether a client that follows this authentication packet sends the password itself.
    pub(crate) fn requests_password(&self) -> bool {
        match self.payload() {
            [0xfe, method @ ..] => sends_password(until_nul(method)),
            // `caching_sha2_password` does not have the hash cached and requests the password.
            [0x01, 0x04, ..] => true,
            _ => false,
        }
    }

    /// Splits a client's response to the greeting into a TLS request and the response itself.
    pub(crate) fn split_for_tls(mut self) -> io::Result<(Packet, Packet)> {
        const SSL_REQUEST: usize = 32;
        if self.payload().len() < SSL_REQUEST {
            return Err(malformed());
        }
        self.0[HEADER_BYTES + 1] |= (SSL >> 8) as u8;
        let mut request = self.0[..HEADER_BYTES + SSL_REQUEST].to_vec();
        request[..3].copy_from_slice(&[SSL_REQUEST as u8, 0, 0]);
        self.0[3] = self.0[3].wrapping_add(1);
        Ok((Packet(request), self))
    }
}

/// The first packet of a server.
#[derive(Debug)]
pub(crate) struct Greeting {
    packet: Packet,
    /// The offset of the lower half of the capabilities in the packet.
    capabilities_at: usize,
    capabilities: u32,
    method: Vec<u8>,
}

impl Greeting {
    /// Fails unless all fields that the driver reads are present.
    pub(crate) fn parse(packet: Packet) -> io::Result<Greeting> {
        let payload = packet.payload();
        let version = payload.iter().skip(1).position(|byte| *byte == 0).ok_or_else(malformed)?;
        // Protocol, version with terminator, connection id, salt, filler.
        let at = 1 + version + 1 + 4 + 8 + 1;
        let fixed = payload.get(at..at + 18).ok_or_else(malformed)?;
        let capabilities = u32::from_le_bytes([fixed[0], fixed[1], fixed[5], fixed[6]]);
        let mut rest = &payload[at + 18..];
        if capabilities & SECURE_CONNECTION != 0 {
            let salt = usize::from(fixed[7]).saturating_sub(8).max(13);
            rest = rest.get(salt..).ok_or_else(malformed)?;
        }
        let has_method = capabilities & PLUGIN_AUTH != 0;
        if has_method && !rest.contains(&0) {
            return Err(malformed());
        }
        let method = if has_method { until_nul(rest).to_vec() } else { Vec::new() };
        Ok(Greeting { capabilities_at: HEADER_BYTES + at, capabilities, method, packet })
    }

    pub(crate) fn offers_tls(&self) -> bool {
        self.capabilities & SSL != 0
    }

    pub(crate) fn requests_password(&self) -> bool {
        sends_password(&self.method)
    }

    /// The same greeting without the TLS capability.
    pub(crate) fn without_tls(mut self) -> Packet {
        self.packet.0[self.capabilities_at + 1] &= !((SSL >> 8) as u8);
        self.packet
    }
}

fn sends_password(method: &[u8]) -> bool {
    CLEAR_PASSWORD_METHODS.contains(&method)
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn malformed() -> io::Error {
    io::Error::other("malformed handshake")
}

#[cfg(test)]
mod tests {
    use super::{Greeting, Packet};

    fn packet(payload: &[u8]) -> Packet {
        Packet([&[payload.len() as u8, 0, 0, 0][..], payload].concat())
    }

    fn greeting(method: &[u8]) -> Vec<u8> {
        let salt = b"\x0a8.0.1\0\x01\0\0\0abcdefgh\0";
        let fixed = b"\xff\xff\x21\x02\0\xff\xff\x15\0\0\0\0\0\0\0\0\0\0";
        [&salt[..], fixed, b"ijklmnopqrst\0", method, b"\0"].concat()
    }

    #[test]
    fn methods_that_send_the_password_are_recognized() {
        for (method, asks) in [
            ("mysql_clear_password", true),
            ("sha256_password", true),
            ("mysql_native_password", false),
            ("caching_sha2_password", false),
        ] {
            let greeting = Greeting::parse(packet(&greeting(method.as_bytes()))).unwrap();
            assert_eq!(greeting.requests_password(), asks, "{method}");
            for data in ["", "\0", "\0abcdefghijabcdefghij\0"] {
                let switch = packet(format!("\u{0}{method}{data}").as_bytes());
                let mut switch = switch;
                switch.0[4] = 0xfe;
                assert_eq!(switch.requests_password(), asks, "{method}{data:?}");
            }
        }
        assert!(packet(&[1, 4]).requests_password());
        assert!(!packet(&[1, 3]).requests_password());
    }

    #[test]
    fn truncated_greeting_is_rejected() {
        let whole = greeting(b"mysql_native_password");
        for end in 2..whole.len() {
            assert!(Greeting::parse(packet(&whole[..end])).is_err(), "{end}");
        }
        assert!(Greeting::parse(packet(&whole)).unwrap().offers_tls());
    }

    #[test]
    fn tls_capability_is_removed_for_the_driver() {
        let greeting = Greeting::parse(packet(&greeting(b"mysql_native_password"))).unwrap();
        assert!(!Greeting::parse(greeting.without_tls()).unwrap().offers_tls());
    }
}
