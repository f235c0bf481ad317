import AppStore
import AppStoreVerification
import Randomness
import StoreSimulator
import Testing

/// Encodes random receipts and decodes them again.
struct ReceiptRoundTripTests {
    @Test func `a decoded receipt equals the encoded one`() throws {
        var generator = SeededGenerator(seed: 1)
        for number in 0..<600 {
            let receipt = generator.receipt()
            #expect(try AppReceipt(content: receipt.encoded) == receipt, "receipt \(number)")
            #expect(try AppReceipt.creationDate(inContent: receipt.encoded) == receipt.creationDate, "receipt \(number)")
        }
    }

    @Test(arguments: 1...5) func `any receipt is genuine in both generations and encodings, with the same content hash`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let authority = try GenuineReceipts.authority.get()
        let receipt = generator.receipt()
        var hashes: Set<[UInt8]> = []
        for generation in ReceiptAuthority.Generation.allCases {
            for encoding in ReceiptEncoding.allCases {
                let signed = try ReceiptSigner(authority: authority, generation: generation, encoding: encoding).base64(receipt)
                guard case .valid(let verified) = try GenuineReceipts.verifier().verify(signed, receivedAt: .testNow) else {
                    Issue.record("seed \(seed): refused")
                    continue
                }
                #expect(verified.receipt == receipt, "seed \(seed)")
                hashes.insert(verified.contentHash)
            }
        }
        #expect(hashes.count == 1, "seed \(seed)")
    }
}

/// One authority for all tests: creating RSA keys takes longer than most tests.
enum GenuineReceipts {
    static let authority = Result { try ReceiptAuthority.generate(.longLived(around: .testNow)) }

    static func verifier() throws -> ReceiptVerifier {
        ReceiptVerifier(
            policy: VerificationPolicy(apps: nil, environments: nil, roots: [try TrustedRoot(authority.get().root, environments: nil)])
        )
    }
}

extension SeededGenerator {
    /// A random receipt. Each attribute that a genuine receipt may lack is missing at random.
    mutating func receipt() -> AppReceipt {
        var receipt = AppReceipt()
        receipt.receiptType = [.production, .productionSandbox, .productionVPP].randomElement(using: &self)
        receipt.appItemID = optional { Int64.random(in: 1...Int64.max, using: &$0) }
        let bundleID = "com.example.\(next())"
        receipt.bundleID = bundleID
        receipt.bundleIDBytes = [0x0c, UInt8(bundleID.utf8.count)] + Array(bundleID.utf8)
        receipt.applicationVersion = optional { "\($0.next())é" }
        receipt.opaqueValue = bytes(Int.random(in: 0...20, using: &self))
        receipt.sha1Hash = bytes(20)
        receipt.creationDate = Timestamp.testNow.advanced(by: .milliseconds(-250))
        receipt.downloadID = optional { Int64.random(in: 1...99, using: &$0) }
        receipt.originalPurchaseDate = optional { $0.date() }
        receipt.originalApplicationVersion = optional { _ in "1.0" }
        receipt.expirationDate = optional { $0.date() }
        receipt.purchases = (0..<Int.random(in: 0...9, using: &self)).map { _ in purchase() }
        receipt.otherAttributes = (0..<Int.random(in: 0...5, using: &self)).map { _ in attribute(types: 22...1700) }
        return receipt
    }

    mutating func purchase() -> InAppPurchase {
        var purchase = InAppPurchase()
        purchase.quantity = Int64.random(in: 1...10, using: &self)
        purchase.productID = "com.example.\(next() % 100)"
        purchase.transactionID = "\(next())"
        purchase.originalTransactionID = optional { "\($0.next())" }
        purchase.purchaseDate = date()
        purchase.originalPurchaseDate = optional { $0.date() }
        purchase.productType = optional { ReceiptProductType(rawValue: Int64.random(in: -1...4, using: &$0)) }
        purchase.expiresDate = optional { $0.date() }
        purchase.webOrderLineItemID = optional { "\(Int64.random(in: 1...Int64.max, using: &$0))" }
        purchase.cancellationDate = optional { $0.date() }
        purchase.isTrialPeriod = optional { Bool.random(using: &$0) }
        purchase.isInIntroOfferPeriod = optional { Bool.random(using: &$0) }
        purchase.promotionalOfferID = optional { "offer\($0.next())" }
        purchase.otherAttributes = (0..<Int.random(in: 0...5, using: &self)).map { _ in attribute(types: 1722...9999) }
        return purchase
    }

    private mutating func attribute(types: ClosedRange<Int64>) -> ReceiptAttribute {
        ReceiptAttribute(type: .random(in: types, using: &self), version: .random(in: 1...300, using: &self), value: bytes(Int(next() % 9)))
    }

    private mutating func date() -> Timestamp {
        Timestamp(millisecondsSince1970: Int64.random(in: 0...253_402_300_799, using: &self) * 1000)
    }

    private mutating func optional<Value>(_ make: (inout SeededGenerator) -> Value) -> Value? {
        Bool.random(using: &self) ? make(&self) : nil
    }
}
