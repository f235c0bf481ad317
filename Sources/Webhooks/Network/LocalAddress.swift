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

/// Socket addresses are written and read by the offsets of sockaddr_in (ip(7)) and sockaddr_in6 (ipv6(7)): in an optimized build, Swift takes the
/// members of these structures for those of a module that this one does not import.
extension IPAddress {
    private static let offsets = (port: 2, v4: 4, v6: 8)
    private static let lengths = (v4: 16, v6: 28)

    var storageLength: socklen_t { socklen_t(v4 == nil ? Self.lengths.v6 : Self.lengths.v4) }

    /// The address as the system's calls take it.
    func storage(port: UInt16) -> sockaddr_storage {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { storage in
            storage.storeBytes(of: sa_family_t(v4 == nil ? AF_INET6 : AF_INET), as: sa_family_t.self)
            storage.storeBytes(of: port.bigEndian, toByteOffset: Self.offsets.port, as: UInt16.self)
            if v4 == nil {
                UnsafeMutableRawBufferPointer(rebasing: storage[Self.offsets.v6...]).copyBytes(from: bytes)
            } else {
                UnsafeMutableRawBufferPointer(rebasing: storage[Self.offsets.v4...]).copyBytes(from: bytes.suffix(4))
            }
        }
        return storage
    }

    /// Nil for another family than IPv4 and IPv6.
    init?(_ storage: sockaddr_storage) {
        let bytes = withUnsafeBytes(of: storage) { storage -> [UInt8] in
            switch Int32(storage.loadUnaligned(as: sa_family_t.self)) {
            case AF_INET: Array(storage[Self.offsets.v4...].prefix(4))
            case AF_INET6: Array(storage[Self.offsets.v6...].prefix(16))
            default: []
            }
        }
        self.init(bytes: bytes)
    }
}
