import Glibc

/// TCP ports of the loopback interface.
package enum FreePort {
    /// A port on which nobody listens at this moment.
    package static func find() -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { pointer in
                precondition(bind(descriptor, pointer.baseAddress, length) == 0, "no port can be bound")
                precondition(getsockname(descriptor, pointer.baseAddress, &length) == 0, "the bound port cannot be read")
            }
            return Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        }
    }
}
