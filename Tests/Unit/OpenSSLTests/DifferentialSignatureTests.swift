import Foundation
import Randomness
import Testing

@testable import OpenSSL

/// Random signatures, genuine and altered, verified with a table and by libcrypto alone.
///
/// `ECDSA_SIGNATURES` is their number; `deploy/prove signatures` takes 20,000.
@Suite(.enabled(if: PointTable.isSupported, "this libcrypto builds no tables"))
struct DifferentialSignatureTests {
    private typealias Order = OrderArithmetic

    private static let count = ProcessInfo.processInfo.environment["ECDSA_SIGNATURES"].flatMap(Int.init) ?? 400
    private static let signaturesPerKey = 100

    @Test func `the table accepts exactly what libcrypto accepts`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        if Self.count > 1000 { print("\(Self.count) signatures, seed \(seed)") }
        var generator = SeededGenerator(seed: seed)
        var verdicts = [true: 0, false: 0]
        for start in stride(from: 0, to: Self.count, by: Self.signaturesPerKey) {
            await Task.yield()
            let secret = [0x3f] + generator.bytes(31)
            let key = try PrivateKey(secret: secret)
            let table = try #require(PointTable(of: key.publicKey.handle))
            for _ in start..<min(start + Self.signaturesPerKey, Self.count) {
                let (signature, digest) = try Self.signature(by: key, &generator)
                let der = ECDSASignature.der(fromRaw: signature)
                let isGenuine = der.map { key.publicKey.verify(der: $0, digest: digest) } ?? false
                verdicts[isGenuine, default: 0] += 1
                // Signing is random, so that the numbers are needed to repeat a failure.
                let numbers = "seed \(seed), secret \(secret), signature \(signature), digest \(digest)"
                #expect(table.verify(signature, digest: digest) == isGenuine, "\(numbers)")
            }
        }
        #expect(verdicts.values.allSatisfy { $0 > Self.count / 4 }, "\(verdicts), seed \(seed)")
    }

    /// A signature of a random message and its digest; one of two is altered.
    private static func signature(
        by key: PrivateKey,
        _ generator: inout SeededGenerator
    ) throws -> (signature: [UInt8], digest: [UInt8]) {
        let message = generator.bytes(Int.random(in: 0...80, using: &generator))
        var (signature, digest) = (try key.signES256(message), Digest.sha256(message))
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        switch Int.random(in: 0..<12, using: &generator) {
        case 0..<5: break
        // Genuine, too.
        case 5: signature = r + Order.negated(s)
        case 6: signature[Int.random(in: 0..<64, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 7: digest[Int.random(in: 0..<32, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 8: signature = s + r
        case 9: signature = Order.negated(r) + s
        case 10: signature = r + Order.number(UInt8.random(in: 0...255, using: &generator))
        default: signature = generator.bytes(64)
        }
        return (signature, digest)
    }
}
