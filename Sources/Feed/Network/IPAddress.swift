import Glibc

/// An IPv4 or IPv6 address, without a scope.
struct IPAddress: Hashable, Sendable {
    /// 16 bytes; an IPv4 address is IPv4-mapped (RFC 4291 §2.5.5.2), so that both notations of one address are equal.
    let bytes: [UInt8]

    private static let mappedPrefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

    /// - Parameter bytes: 4 or 16 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes.count == 4 ? Self.mappedPrefix + bytes : bytes
    }

    init(v4: UInt32) {
        bytes = Self.mappedPrefix + withUnsafeBytes(of: v4.bigEndian) { Array($0) }
    }

    /// Reads the usual notations, as inet_pton(3) does: four decimal numbers, or IPv6 without brackets and scope.
    init?(_ text: String) {
        var (v4, v6) = ([UInt8](repeating: 0, count: 4), [UInt8](repeating: 0, count: 16))
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(bytes: v4)
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(bytes: v6)
        } else {
            return nil
        }
    }

    /// The IPv4 address; nil for an IPv6 address that is not IPv4-mapped.
    var v4: UInt32? { bytes.starts(with: Self.mappedPrefix) ? number(at: 12) : nil }

    /// The four bytes from `offset`, as a number.
    func number(at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isV4 = v4 != nil
        let packed = isV4 ? Array(bytes.suffix(4)) : bytes
        guard inet_ntop(isV4 ? AF_INET : AF_INET6, packed, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension IPAddress {
    /// The IPv4 addresses that a packet to this IPv6 address may be delivered to, by translation or in a tunnel. Empty for an IPv4 address.
    var embedded: [IPAddress] {
        guard v4 == nil else { return [] }
        var found: [UInt32] = []
        // Compatible (RFC 4291 §2.5.5.1) and translated (RFC 2765 §2.1): the last 32 bits.
        if bytes.prefix(12).allSatisfy({ $0 == 0 }) && number(at: 12) > 1 { found.append(number(at: 12)) }
        if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0]) { found.append(number(at: 12)) }
        // NAT64 (RFC 6052 §2.2): the well-known prefix has 96 bits, a prefix of a network's own 48 to 96.
        if bytes.starts(with: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]) { found.append(number(at: 12)) }
        if bytes.starts(with: [0, 0x64, 0xff, 0x9b, 0, 1]) {
            let candidates = [
                [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15],
            ].map { $0.reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[$1]) } }
            // Zeros are a part of the prefix or of the suffix.
            found += candidates.filter { $0 >> 24 != 0 }
        }
        // 6to4 (RFC 3056 §2).
        if bytes.starts(with: [0x20, 0x02]) { found.append(number(at: 2)) }
        // Teredo (RFC 4380 §4): the server, and the client with its bits inverted.
        if bytes.starts(with: [0x20, 0x01, 0, 0]) { found += [number(at: 4), ~number(at: 12)] }
        // ISATAP (RFC 5214 §6.1): the interface identifier, with or without the bit of a global one.
        if number(at: 8) & 0xfdff_ffff == 0x0000_5efe { found.append(number(at: 12)) }
        return found.map(IPAddress.init(v4:))
    }
}

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

    fileprivate var storageLength: socklen_t { socklen_t(v4 == nil ? Self.lengths.v6 : Self.lengths.v4) }

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
