/// A certificate whose DER is put together here, with any key: libcrypto makes no certificate with such keys.
struct HandmadeCertificate {
    /// The SubjectPublicKeyInfo.
    var key: [UInt8]
    /// Bytes of an extension that nothing reads.
    var paddingByteCount = 0

    static let serialNumber = DER.integer([7])

    var der: [UInt8] {
        let algorithm = DER.sequence(DER.identifier([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]))
        let name = DER.sequence(DER.tagged(0x31, DER.sequence(DER.identifier([0x55, 0x04, 0x03]), DER.tagged(0x0c, Array("x".utf8)))))
        let validity = DER.sequence(DER.tagged(0x17, Array("240101000000Z".utf8)), DER.tagged(0x17, Array("260101000000Z".utf8)))
        let padding = DER.sequence(
            DER.identifier([0x2a, 0x03]),
            DER.tagged(0x04, [UInt8](repeating: 0, count: paddingByteCount))
        )
        let body = DER.sequence(
            DER.tagged(0xa0, DER.integer([2])),
            Self.serialNumber,
            algorithm,
            name,
            validity,
            name,
            key,
            DER.tagged(0xa3, DER.sequence(padding))
        )
        return DER.sequence(body, algorithm, DER.bitString(DER.sequence(DER.integer([1]), DER.integer([1]))))
    }
}

extension HandmadeCertificate {
    /// A key on a curve that the key itself describes, with the prime p = 141 · 2^640 + 1.
    ///
    /// To decompress a point, libcrypto looks for a square root modulo p by Tonelli and Shanks; the time grows with the square of 640.
    static let ownCurve: [UInt8] = {
        let zero = [UInt8](repeating: 0, count: 81)
        let prime = [141] + zero.dropFirst(2) + [1]
        // x³ + 25 for x = 0 is the square of a number that is no square itself, for which the search is the longest.
        let curve = DER.sequence(DER.tagged(0x04, zero), DER.tagged(0x04, zero.dropLast() + [25]))
        let parameters = DER.sequence(
            DER.integer([1]),
            DER.sequence(DER.identifier([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x01, 0x01]), DER.integer(prime)),
            curve,
            DER.tagged(0x04, [2] + zero),
            DER.integer([0x80] + zero.dropFirst(2) + [1]),
            DER.integer([1])
        )
        return curveKey(parameters, point: [2] + zero)
    }()

    static let p256 = DER.identifier([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07])
    static let p384 = DER.identifier([0x2b, 0x81, 0x04, 0x00, 0x22])
    static let p521 = DER.identifier([0x2b, 0x81, 0x04, 0x00, 0x23])

    static func curveKey(_ parameters: [UInt8], point: [UInt8]) -> [UInt8] {
        DER.sequence(DER.sequence(DER.identifier([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]), parameters), DER.bitString(point))
    }

    /// An RSA key with that modulus and exponent, each big-endian.
    static func rsaKey(_ modulus: [UInt8], _ exponent: [UInt8]) -> [UInt8] {
        let algorithm = DER.sequence(DER.identifier([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]), [0x05, 0x00])
        return DER.sequence(algorithm, DER.bitString(DER.sequence(DER.integer(modulus), DER.integer(exponent))))
    }

    /// A modulus of that many bits; it need not be the product of two primes.
    static func modulus(bitCount: Int) -> [UInt8] {
        [UInt8(1) << UInt8((bitCount - 1) % 8)] + [UInt8](repeating: 0xff, count: (bitCount - 1) / 8)
    }
}

/// Writes DER.
enum DER {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { tagged(0x30, Array(parts.joined())) }

    static func identifier(_ content: [UInt8]) -> [UInt8] { tagged(0x06, content) }

    static func bitString(_ content: [UInt8]) -> [UInt8] { tagged(0x03, [0] + content) }

    /// A positive integer.
    static func integer(_ bigEndian: [UInt8]) -> [UInt8] { tagged(0x02, (bigEndian.first ?? 0) < 0x80 ? bigEndian : [0] + bigEndian) }

    static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count > 127 else { return [tag, UInt8(content.count)] + content }
        let length = withUnsafeBytes(of: content.count.bigEndian) { Array($0.drop { $0 == 0 }) }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }
}
