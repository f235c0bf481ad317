import AppStore
import AppStoreVerification
import CorpusTesting
import Foundation
import Testing

/// Receipts of 2015 to 2025 that Apple signed, compared with what an independent reader decodes.
@Suite(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS is not set"))
struct ReceiptCorpusTests {
    private static let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))

    private struct Entry: CorpusEntry {
        let file: String
        let digest: String
    }

    private struct LegacyEntry: CorpusEntry {
        let file: String
        let environment: String
        let product: String
        let bid: String
    }

    @Test func `each is valid at its own time, and holds what the independent reader decodes`() throws {
        let entries = try Corpus.index(of: "receipts", as: Entry.self)
        #expect(entries.count == 24)
        let verifier = ReceiptVerifier(policy: VerificationPolicy(apps: nil, environments: nil, roots: [.appleRootCA]))
        for entry in entries {
            let text = try Corpus.text("receipts/\(entry.file)")
            let verdict = verifier.verify(text, receivedAt: Self.now)
            guard let verified = verdict.accepted else {
                Issue.record("\(entry.file): \(verdict)")
                continue
            }
            let path = "receipts/\(entry.file.dropLast(".b64".count)).json"
            let reading = try JSONDecoder().decode(Reading.self, from: Data(try Corpus.bytes(path)))
            #expect(Reading(verified.receipt) == reading.normalized, "\(entry.file)")
            #expect(verified.digest == (entry.digest == "sha1" ? .sha1 : .sha256), "\(entry.file)")
            #expect(verified.environment == .sandbox && verified.bundleID == reading.receipt.bundle_id, "\(entry.file)")
            // The binary form has the same verdict.
            let binary = try #require(Base64.decodeLoosely(Array(text.utf8)[...]))
            #expect(verifier.verify(binary[...], receivedAt: Self.now).accepted?.contentHash == verified.contentHash, "\(entry.file)")
            let reason = try TestReceipts.verify(binary).rejection?.reason
            #expect(reason == .untrustedRoot || reason == .certificateSignatureInvalid, "\(entry.file)")
        }
    }

    @Test func `iOS 6 style receipts are named, and left to verifyReceipt`() throws {
        let entries = try Corpus.index(of: "receipts-legacy", as: LegacyEntry.self)
        #expect(entries.count == 6)
        let verifier = ReceiptVerifier(policy: VerificationPolicy(apps: nil, environments: nil, roots: [.appleRootCA]))
        for entry in entries {
            let text = Array(try Corpus.text("receipts-legacy/\(entry.file)").utf8)
            guard case .transactionReceipt(let receipt) = ReceiptInput(text[...]) else {
                Issue.record("\(entry.file) is not recognised")
                continue
            }
            #expect(receipt.environment == entry.environment, "\(entry.file)")
            #expect(receipt.purchase["product-id"] == entry.product && receipt.purchase["bid"] == entry.bid, "\(entry.file)")
            #expect(verifier.verify(text[...], receivedAt: Self.now).rejection?.reason == .transactionReceipt, "\(entry.file)")
        }
    }

    @Test func `Xcode's receipts are decoded, and refused`() throws {
        let files = try Corpus.files(of: "receipts-xcode")
        #expect(files.count == 2)
        let verifier = ReceiptVerifier(policy: VerificationPolicy(apps: nil, environments: nil, roots: [.appleRootCA]))
        for file in files {
            let text = Array(try Corpus.text("receipts-xcode/\(file)").utf8)
            let signed = try SignedReceipt(try #require(Base64.decodeLoosely(text[...]))[...])
            let receipt = try AppReceipt(content: signed.content)
            #expect(receipt.receiptType == .xcode && receipt.bundleID == "com.example.naturelab.backyardbirds.example", "\(file)")
            #expect(receipt.purchases.isEmpty == file.contains("empty"), "\(file)")
            #expect(verifier.verify(text[...], receivedAt: Self.now).rejection?.reason == .untrustedRoot, "\(file)")
        }
    }
}

/// What the independent reader writes about a receipt.
private struct Reading: Decodable, Equatable {
    struct Receipt: Decodable, Equatable {
        var receipt_type: String?
        var bundle_id: String?
        var app_version: String?
        var original_app_version: String?
        var creation_date: String?
    }

    struct Purchase: Decodable, Equatable {
        var quantity: Int64?
        var product_id: String?
        var transaction_id: String?
        var original_transaction_id: String?
        /// 0 for none.
        var web_order_line_item_id: Int64?
        /// Empty for none.
        var purchase_date: String?
        var original_purchase_date: String?
        var expires_date: String?
        var cancellation_date: String?
        var is_trial: Int64?
        var is_in_intro_offer_period: Int64?
    }

    var receipt: Receipt
    var in_app: [Purchase]

    init(_ receipt: AppReceipt) {
        self.receipt = Receipt(
            receipt_type: receipt.receiptType?.rawValue,
            bundle_id: receipt.bundleID,
            app_version: receipt.applicationVersion,
            original_app_version: receipt.originalApplicationVersion,
            creation_date: Self.text(receipt.creationDate)
        )
        in_app = receipt.purchases.map { purchase in
            Purchase(
                quantity: purchase.quantity,
                product_id: purchase.productID,
                transaction_id: purchase.transactionID,
                original_transaction_id: purchase.originalTransactionID,
                web_order_line_item_id: purchase.webOrderLineItemID.flatMap(Int64.init),
                purchase_date: Self.text(purchase.purchaseDate),
                original_purchase_date: Self.text(purchase.originalPurchaseDate),
                expires_date: Self.text(purchase.expiresDate),
                cancellation_date: Self.text(purchase.cancellationDate),
                is_trial: purchase.isTrialPeriod.map { $0 ? 1 : 0 },
                is_in_intro_offer_period: purchase.isInIntroOfferPeriod.map { $0 ? 1 : 0 }
            )
        }
    }

    /// With nil for the texts and numbers that stand for none.
    var normalized: Reading {
        var reading = self
        reading.in_app = in_app.map { purchase in
            var purchase = purchase
            if purchase.web_order_line_item_id == 0 { purchase.web_order_line_item_id = nil }
            for date in [\Purchase.purchase_date, \.original_purchase_date, \.expires_date, \.cancellation_date] {
                if purchase[keyPath: date] == "" { purchase[keyPath: date] = nil }
            }
            return purchase
        }
        return reading
    }

    /// In whole seconds, as in receipts.
    private static func text(_ date: Timestamp?) -> String? {
        date.map { Date(timeIntervalSince1970: Double($0.millisecondsSince1970) / 1000).formatted(.iso8601) }
    }
}
