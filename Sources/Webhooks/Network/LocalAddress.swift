import Glibc

/// Which addresses are this machine's own.
enum LocalAddress {
    /// Whether a connection to the address would stay on this machine.
    ///
    /// The kernel chooses the destination itself as the source of a packet to an address of this machine. Connecting a UDP socket sends
    /// nothing, and needs no netlink, which the unit of the worker denies.
    static func contains(_ address: IPAddress) -> Bool {
        if loopback.contains(address) { return true }
        let family = address.v4 == nil ? AF_INET6 : AF_INET
        let descriptor = socket(family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var storage = address.storage(port: 9)
        let length = address.storageLength
        var source = sockaddr_storage()
        var sourceLength = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isKnown = withUnsafeMutableBytes(of: &storage) { destination in
            withUnsafeMutableBytes(of: &source) { source in
                guard let destination = destination.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    let source = source.baseAddress?.assumingMemoryBound(to: sockaddr.self)
                else { return false }
                return connect(descriptor, destination, length) == 0 && getsockname(descriptor, source, &sourceLength) == 0
            }
        }
        return isKnown && IPAddress(source) == address
    }

    private static let loopback = [AddressRange](known: "127.0.0.0/8 ::1")
}

extension IPAddress {
    var storageLength: socklen_t {
        socklen_t(v4 == nil ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
    }

    /// The address as the system's calls take it.
    func storage(port: UInt16) -> sockaddr_storage {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { storage in
            if let v4 {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = port.bigEndian
                address.sin_addr.s_addr = v4.bigEndian
                storage.storeBytes(of: address, as: sockaddr_in.self)
            } else {
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_port = port.bigEndian
                withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
                storage.storeBytes(of: address, as: sockaddr_in6.self)
            }
        }
        return storage
    }

    /// Nil for another family than IPv4 and IPv6.
    init?(_ storage: sockaddr_storage) {
        let bytes = withUnsafeBytes(of: storage) { storage -> [UInt8] in
            switch Int32(storage.loadUnaligned(as: sa_family_t.self)) {
            case AF_INET: withUnsafeBytes(of: storage.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
            case AF_INET6: withUnsafeBytes(of: storage.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
            default: []
            }
        }
        self.init(bytes: bytes)
    }
}
