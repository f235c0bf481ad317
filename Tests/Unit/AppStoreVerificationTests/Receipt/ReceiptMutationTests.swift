import AppStore
import AppStoreVerification
import Randomness
import StoreSimulator
import Testing

/// A receipt that is changed anywhere after signing never yields other content, and never crashes the verifier.
struct ReceiptMutationTests {
    private let content = TestReceipts.receipt.encoded
    private let seed = UInt64.random(in: .min ... .max)

    @Test(arguments: ReceiptEncoding.allCases)
    func `a truncated receipt is refused`(encoding: ReceiptEncoding) async throws {
        let genuine = try TestReceipts.envelope().encoded(encoding)
        let verifier = ReceiptVerifier(policy: try TestReceipts.policy())
        for count in genuine.indices {
            await Task.yield()
            #expect(verifier.verify(genuine[..<count], receivedAt: TestReceipts.now).rejection != nil, "\(count) bytes")
        }
    }

    @Test(arguments: 0..<4) func `no flipped bit changes the content of a receipt`(share: Int) async throws {
        let (genuine, verifier) = try smallReceipt(.der)
        for bit in stride(from: share, to: genuine.count * 8, by: 4) {
            await Task.yield()
            expectUnchanged(genuine, bit, verifier)
        }
    }

    @Test func `no flipped bit changes the content of a receipt with indefinite lengths`() async throws {
        var generator = SeededGenerator(seed: seed)
        let (genuine, verifier) = try smallReceipt(.indefinite)
        for byte in genuine.indices {
            await Task.yield()
            expectUnchanged(genuine, byte * 8 + Int(generator.next() % 8), verifier)
        }
    }

    /// Some bits have no effect: the issuer's name next to the serial number, versions, unsigned fields.
    private func expectUnchanged(_ genuine: [UInt8], _ bit: Int, _ verifier: ReceiptVerifier) {
        var bytes = genuine
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        guard let accepted = verifier.verify(bytes[...], receivedAt: TestReceipts.now).accepted else { return }
        #expect(accepted.receipt == TestReceipts.receipt, "bit \(bit), seed \(seed)")
    }

    private func smallReceipt(_ encoding: ReceiptEncoding) throws -> ([UInt8], ReceiptVerifier) {
        let (envelope, root) = try ReceiptCertificates().envelope()
        var policy = try TestReceipts.policy()
        policy.roots = [try TrustedRoot(root, environments: nil)]
        let genuine = envelope.encoded(encoding)
        let verifier = ReceiptVerifier(policy: policy)
        _ = try #require(verifier.verify(genuine[...], receivedAt: TestReceipts.now).accepted)
        return (genuine, verifier)
    }

    @Test func `truncated content is refused`() async throws {
        for count in content.indices {
            await Task.yield()
            #expect(throws: MalformedReceipt.self, "\(count) bytes") { try AppReceipt(content: Array(content[..<count])) }
        }
    }

    @Test func `content with a flipped bit has one creation date or is refused`() async throws {
        for bit in 0..<content.count * 8 {
            await Task.yield()
            var bytes = content
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            let date = Result { try AppReceipt.creationDate(inContent: bytes) }
            guard case .success(let receipt) = Result(catching: { try AppReceipt(content: bytes) }) else { continue }
            // The chain must be validated at the date that versions the receipt in the ledger.
            #expect(try date.get() == receipt.creationDate, "bit \(bit)")
        }
    }

    @Test func `removed and duplicated ranges are detected`() async throws {
        var generator = SeededGenerator(seed: seed)
        let genuine = try TestReceipts.sign()
        let verifier = ReceiptVerifier(policy: try TestReceipts.policy())
        for _ in 0..<500 {
            await Task.yield()
            let first = Int.random(in: 0..<genuine.count, using: &generator)
            let second = Int.random(in: first..<genuine.count, using: &generator) + 1
            for bytes in [genuine[..<first] + genuine[second...], genuine[..<second] + genuine[first...]] {
                #expect(verifier.verify(bytes, receivedAt: TestReceipts.now).accepted == nil, "\(first)..<\(second), seed \(seed)")
            }
        }
    }

    @Test func `huge numbers of attributes, segments and nested elements are refused`() async throws {
        let purchase: [UInt8] = [0x30, 0x0a, 0x02, 0x01, 17, 0x02, 0x01, 1, 0x04, 0x02, 0x31, 0x00]
        for (count, code) in [(20_001, ASN1Error.Code.tooMany), (100_000, .tooMany)] {
            await Task.yield()
            let content = Self.set(Array(repeatElement(purchase, count: count).joined()))
            let error = #expect(throws: MalformedReceipt.self) { try AppReceipt(content: content) }
            #expect(error?.cause.code == code)
        }
        await Task.yield()
        let segments = Array(repeatElement([0x04, 0x00] as [UInt8], count: 1_000_000).joined())
        let envelope: [UInt8] = [0x24, 0x80] + segments + [0, 0]
        #expect(throws: SignedReceipt.Malformed.self) { try SignedReceipt(envelope[...]) }
        await Task.yield()
        let nested = Array(repeatElement([0x30, 0x80] as [UInt8], count: 1_000_000).joined())
        #expect(throws: SignedReceipt.Malformed.self) { try SignedReceipt(nested[...]) }
    }

    private static func set(_ content: [UInt8]) -> [UInt8] {
        [0x31, 0x84] + withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0) } + content
    }
}
