import Glibc

/// Finds free TCP ports of the loopback interface.
package enum FreePort {
    /// Below the kernel's ephemeral ports: an outgoing connection could take one of those before the server binds it.
    private static let range: Range<UInt16> = 16_000..<32_000
    private static let attempts = 100

    /// A port that could be bound at this moment.
    package static func find() throws(ClusterError) -> Int {
        var error: Int32 = 0
        for _ in 0..<attempts {
            let port = UInt16.random(in: range)
            error = bindingError(of: port)
            if error == 0 { return Int(port) }
        }
        throw ClusterError(.system, "no port can be bound on 127.0.0.1: \(String(cString: strerror(error)))")
    }

    /// Zero when the port can be bound.
    private static func bindingError(of port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        return isBound == 0 ? 0 : errno
    }
}
