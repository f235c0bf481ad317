import AppStore
import CorpusTesting
import StrictJSON
import Testing

/// Notifications V1 and answers of verifyReceipt of many years, from public places.
@Suite(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS is not set"))
struct CorpusV1Tests {
    private struct Entry: CorpusEntry {
        let file: String
        let kind: String
        let notification_type: String?
        let environment: String?
        let status: Int32?
        let has_unified_receipt: Bool
        let bid: String?
    }

    private static func entries(_ kind: String) throws -> [Entry] {
        try Corpus.index(of: "v1", as: Entry.self).filter { $0.kind == kind }
    }

    @Test func `every notification V1 is decoded`() throws {
        let entries = try Self.entries("v1-notification")
        #expect(entries.count == 24)
        for entry in entries {
            let bytes = try Corpus.bytes("v1/\(entry.file)")
            let body = try NotificationV1Body(bytes)
            #expect(body.kind == .notificationV1, "\(entry.file)")
            let notification = try ResponseBodyV1(JSONParser().parseObject(body.bytes))
            #expect(notification.notificationType?.rawValue == entry.notification_type, "\(entry.file)")
            #expect(notification.environment == entry.environment.map(AppStoreEnvironment.init(legacy:)), "\(entry.file)")
            #expect(notification.bundleID == entry.bid, "\(entry.file)")
            #expect((notification.unifiedReceipt != nil) == entry.has_unified_receipt, "\(entry.file)")
            // The secret is read once, and is not in what is kept.
            let password = try JSONParser().parseObject(bytes)["password"]
            #expect(body.passwordCount == (password == nil ? 0 : 1), "\(entry.file)")
            if case .string(let secret)? = password { #expect(body.secrets == [Array(secret.utf8)], "\(entry.file)") }
        }
    }

    /// Altered by others: `receipt` is an array instead of an object, or asterisks replace a date.
    private static let altered = ["06-verifyReceipt-status0.json", "44-verifyReceipt-status0.json", "59-verifyReceipt-status0.json"]

    @Test func `every answer of verifyReceipt is decoded`() throws {
        let entries = try Self.entries("verifyReceipt")
        #expect(entries.count == 25)
        for entry in entries {
            let json = try JSONParser().parseObject(try Corpus.bytes("v1/\(entry.file)"))
            guard !Self.altered.contains(entry.file) else {
                #expect(throws: MalformedPayload.self, "\(entry.file)") { try VerifyReceiptResponse(json) }
                continue
            }
            let answer = try VerifyReceiptResponse(json)
            #expect(answer.status?.rawValue == entry.status, "\(entry.file)")
            #expect(answer.environment == entry.environment.map(AppStoreEnvironment.init(legacy:)), "\(entry.file)")
        }
    }
}
