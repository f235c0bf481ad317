import Foundation

@testable import OpenSSL

/// Arithmetic modulo n, the order of P-256's base point, on 32 bytes, most significant first.
enum OrderArithmetic {
    static let order = HexBytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551").bytes
    static let zero = [UInt8](repeating: 0, count: 32)

    static func number(_ value: UInt8) -> [UInt8] { zero.dropLast() + [value] }

    /// By shifting and adding.
    static func product(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
        var sum = zero
        for byte in x {
            for bit in (0..<8).reversed() {
                sum = added(sum, sum)
                if byte >> UInt8(bit) & 1 == 1 { sum = added(sum, y) }
            }
        }
        return sum
    }

    /// Both numbers below n.
    static func added(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
        var carry = 0
        var sum = zero
        for index in (0..<32).reversed() {
            let value = Int(x[index]) + Int(y[index]) + carry
            sum[index] = UInt8(truncatingIfNeeded: value)
            carry = value >> 8
        }
        return carry == 1 || !sum.lexicographicallyPrecedes(order) ? difference(sum, order) : sum
    }

    /// x - y modulo 2^256.
    static func difference(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
        var borrow = 0
        var result = zero
        for index in (0..<32).reversed() {
            let value = Int(x[index]) - Int(y[index]) - borrow
            borrow = value < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: value)
        }
        return result
    }

    /// n - x, for x in 0 ..< n.
    static func negated(_ x: [UInt8]) -> [UInt8] { x == zero ? zero : difference(order, x) }

    /// By Fermat: x^(n - 2).
    static func inverse(_ x: [UInt8]) -> [UInt8] {
        var power = number(1)
        for byte in difference(order, number(2)) {
            for bit in (0..<8).reversed() {
                power = product(power, power)
                if byte >> UInt8(bit) & 1 == 1 { power = product(power, x) }
            }
        }
        return power
    }
}

extension PrivateKey {
    /// The key on P-256 with this secret number in 1 ..< n.
    convenience init(secret: [UInt8]) throws {
        // RFC 5915 without the public point, which libcrypto computes.
        let der: [UInt8] = [0x30, 0x31, 2, 1, 1, 4, 32] + secret + [0xa0, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]
        try self.init(pem: "-----BEGIN EC PRIVATE KEY-----\n\(Data(der).base64EncodedString())\n-----END EC PRIVATE KEY-----\n")
    }
}
