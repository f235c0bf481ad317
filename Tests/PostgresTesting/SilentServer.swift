import Glibc

/// A server that accepts connections and never says a word.
final class SilentServer: Sendable {
    let port: Int
    private let descriptor: Int32

    init() {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
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
        close(descriptor)
    }
}
