import Glibc
import Synchronization

/// A server that accepts connections and never answers: to a client the same as a host that is switched off.
package final class SilentServer: Sendable {
    package let port: Int
    private let descriptor: Int32
    private let clients = Mutex<[Int32]>([])

    package init() {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        port = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { pointer in
                precondition(bind(descriptor, pointer.baseAddress, length) == 0 && listen(descriptor, 16) == 0)
                precondition(getsockname(descriptor, pointer.baseAddress, &length) == 0)
            }
            return Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        }
    }

    deinit {
        for descriptor in clients.withLock(\.self) + [descriptor] { close(descriptor) }
    }

    /// The number of clients that have connected so far.
    package var clientCount: Int {
        clients.withLock { clients in
            while case let client = accept(descriptor, nil, nil), client >= 0 { clients.append(client) }
            return clients.count
        }
    }

    /// A URL to a database that lists this server as the first host, like a former primary.
    ///
    /// - Parameter timeout: The connect timeout per host in seconds, at least two.
    package func url(before database: TestDatabase, user: String = "postgres", timeout: Int) -> String {
        "postgresql://\(user)@127.0.0.1:\(port),127.0.0.1:\(database.cluster.port)/\(database.name)?connect_timeout=\(timeout)"
    }
}
