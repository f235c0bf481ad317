import Randomness
import Testing

@testable import OpenSSL

/// Verification with a table, compared with libcrypto's own, for critical numbers.
@Suite(.enabled(if: PointTable.isSupported, "this libcrypto builds no tables"))
struct PointTableTests {
    private let order = OrderArithmetic.order
    private let zero = OrderArithmetic.zero

    @Test func `a number times its inverse is one`() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let powersOfTwo = stride(from: 0, to: 64, by: 7).map { power in
            Array(zero.dropLast(8)) + (0..<8).map { UInt8(truncatingIfNeeded: (UInt64(1) << UInt64(power)) >> UInt64(56 - 8 * $0)) }
        }
        let edges = [Array(zero.dropLast()) + [3], Array(order.dropLast()) + [0x50], [0x7f] + Array(order.dropFirst())]
        let random = (0..<60).map { _ in [0x3f] + generator.bytes(31) }
        for number in edges + powersOfTwo + random {
            let inverse = Scalar256(bigEndian: number).inverse
            #expect(OrderArithmetic.product(number, inverse.bigEndian) == Array(zero.dropLast()) + [1], "seed \(seed): \(number)")
            #expect(inverse.inverse.bigEndian == number, "seed \(seed): \(number)")
        }
    }

    @Test func `a wrong inverse of s changes no verdict`() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let key = try PrivateKey.generate(.p256)
        let message = generator.bytes(40)
        let signature = try key.signES256(message)
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        let (otherS, random): ([UInt8], [UInt8]) = ([0x3f] + generator.bytes(31), [0x3f] + generator.bytes(31))
        let signatures: [(name: String, raw: [UInt8], message: [UInt8], isGenuine: Bool)] = [
            ("genuine", signature, message, true),
            ("with n - s", r + OrderArithmetic.difference(order, s), message, true),
            ("with another s", r + otherS, message, false),
            ("with another r", otherS + s, message, false),
            ("with s = 0", r + zero, message, false),
            ("of another message", signature, message + [0], false),
            ("of another key", try PrivateKey.generate(.p256).signES256(message), message, false),
        ]
        let inverse = Scalar256(bigEndian: s).inverse
        let hints: [(name: String, value: Scalar256)] = [
            ("right for the genuine s only", inverse),
            ("negated", Scalar256(bigEndian: OrderArithmetic.difference(order, inverse.bigEndian))),
            ("s itself", Scalar256(bigEndian: s)),
            ("zero", Scalar256(bigEndian: zero)),
            ("n", Scalar256(bigEndian: order)),
            ("2^256 - 1", Scalar256(bigEndian: [UInt8](repeating: 0xff, count: 32))),
            ("random", Scalar256(bigEndian: random)),
        ]
        for hint in hints {
            let value = hint.value
            let made = PointTable(of: key.publicKey.handle, inverse: { _ in value })
            let table = try #require(made)
            #expect(table.verify(signature, digest: Digest.sha256(message)) == (value == inverse), "\(hint.name), seed \(seed)")
            for item in signatures {
                for table in [table, nil] {
                    let digest = Digest.sha256(item.message)
                    let verdict = ECDSASignature.der(fromRaw: item.raw).map {
                        key.publicKey.verify(item.raw, der: $0, digest: digest, table: table)
                    }
                    #expect((verdict ?? false) == item.isGenuine, "\(item.name), hint \(hint.name), seed \(seed)")
                }
            }
        }
    }

    /// With a zero digest and s = r, the sum of the two points is the key's point.
    @Test(arguments: [
        // r + n, which is below p, is the key's x coordinate.
        (
            "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632554484f0c0fda434ef0a808458914f328715d7a545e198ac7eee31dffe861b5d23f",
            "0000000000000000000000000000000000000000000000000000000000000003", true
        ),
        // r + n is p, and the coordinate is zero.
        (
            "000000000000000000000000000000000000000000000000000000000000000066485c780e2f83d72433bd5d84a06bb6541c2af31dae871728bf856a174f93f4",
            "000000000000000000000000000000004319055358e8617b0c46353d039cdaae", false
        ),
    ])
    func `a coordinate from n up to p - 1 matches r, too`(point: String, r: String, isGenuine: Bool) throws {
        let algorithm = HexBytes("3059301306072a8648ce3d020106082a8648ce3d030107034200").bytes
        let key = try PublicKey(der: algorithm + [4] + HexBytes(point).bytes)
        let table = try #require(PointTable(of: key.handle))
        #expect(table.verify(HexBytes(r + r).bytes, digest: zero) == isGenuine)
    }

    @Test(.timeLimit(.minutes(1)))
    func `numbers outside 1 to n - 1 are refused, and the search for an inverse ends`() throws {
        let key = try PrivateKey.generate(.p256)
        let table = try #require(PointTable(of: key.publicKey.handle))
        let message: [UInt8] = [1]
        let digest = Digest.sha256(message)
        let signature = try key.signES256(message)
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        for malformed in [r + zero, r + order, zero + s, order + s, zero + zero, r, signature + [0], []] {
            #expect(!table.verify(malformed, digest: digest))
        }
        #expect(!table.verify(signature, digest: []))
        #expect(table.verify(signature, digest: digest))
    }

    /// With the base point as public key, both products are multiples of it, so that equal and opposite points can be chosen.
    @Test func `sums of equal and of opposite points are verified correctly`() throws {
        let key = try PublicKey(der: HexBytes(basePointKey).bytes)
        let table = try #require(PointTable(of: key.handle))
        // r is the x coordinate of 2 G. With e = r both products are equal; with s = (e + r) / k and k = 2 the signature is genuine.
        let r = HexBytes("7cf27b188d034f7e8a52380304b51ac3c08969e277f21b35a60b48fc47669978").bytes
        #expect(table.verify(r + r, digest: r))
        #expect(!table.verify(r + r, digest: zero))
        // e = -r: the sum is the point at infinity, whatever s is.
        let opposite = OrderArithmetic.difference(order, r)
        #expect(!table.verify(r + r, digest: opposite))
        #expect(!table.verify(r + Array(zero.dropLast()) + [1], digest: opposite))
    }

    @Test func `verdicts stay right while concurrent threads build the table`() async throws {
        let key = try PrivateKey.generate(.p256)
        let message = Array("a message".utf8)
        let signature = try key.signES256(message)
        let forged = try PrivateKey.generate(.p256).signES256(message)
        let uses = PublicKey.usesBeforeTable
        let (genuine, forgeries) = await withTaskGroup(of: (Int, Int).self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let genuine = (0..<uses / 2).count { _ in key.publicKey.verifyES256(signature: signature, message: message[...]) }
                    return (genuine, (0..<10).count { _ in key.publicKey.verifyES256(signature: forged, message: message[...]) })
                }
            }
            return await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
        }
        #expect(genuine == uses * 2)
        #expect(forgeries == 0)
    }

    private let basePointKey = """
        3059301306072a8648ce3d020106082a8648ce3d030107034200046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
        4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5
        """
}
