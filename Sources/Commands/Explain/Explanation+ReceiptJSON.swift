import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import StrictJSON

/// What the legacy App Store sends, in the form for programs.
extension Explanation {
    static func json(_ post: ClientReceipt) -> JSONValue {
        [
            "user": .string(post.user), "transactionId": post.transactionID.map(JSONValue.string) ?? .null,
            "environment": .string(post.environment.rawValue),
            "bundleIds": post.bundleIDs.map { .array($0.map(JSONValue.string)) } ?? .null,
        ]
    }

    static func json(_ post: ClientPost) -> JSONValue {
        [
            "user": .string(post.key.user), "isReceipt": .bool(post.key.isReceipt), "originalTransactionId": .string(post.key.contract.id),
            "transactionId": post.key.transactionID.map(JSONValue.string) ?? .null,
        ]
    }

    /// The document without its receipts, and the receipt in it.
    var legacyPayloads: [JSONValue] {
        let document: JSONValue? = reading?.document.map { document in
            [
                "location": .string(VerifyReport.bodyLocation), "kind": .string(record.source), "isGenuine": .null,
                "payload": .object(document.withoutReceipts), "problem": .null,
            ]
        }
        let receipt: JSONValue? = reading?.receipt.map { receipt in
            [
                "location": .string(receipt.location), "kind": .string(ReceiptReport.kind), "isGenuine": .bool(receipt.isGenuine),
                "payload": receipt.payload.map(JSONValue.object) ?? .null,
                "problem": (receipt.rejection?.description).map(JSONValue.string) ?? .null,
            ]
        }
        return [document, receipt].compactMap(\.self)
    }
}
