import AppStore
import Testing

struct ClientReceiptTests {
    @Test(arguments: [nil, "1000000000000001"] as [String?], [nil, [], ["com.example.app", "b"]] as [[String]?])
    func `a written body can be read`(transactionID: String?, bundleIDs: [String]?) throws {
        let receipt = try ClientReceipt(
            receiptData: "MIIB\r\nAA==",
            user: "anna",
            transactionID: transactionID,
            environment: .sandbox,
            bundleIDs: bundleIDs
        )
        #expect(try ClientReceipt(body: receipt.body) == receipt)
    }

    @Test func `equal values are written as equal bytes`() throws {
        let receipt = try ClientReceipt(
            receiptData: "MII/",
            user: "anna",
            transactionID: "7",
            environment: .production,
            bundleIDs: ["com.example.app"]
        )
        let text =
            #"{"receiptData":"MII/","user":"anna","transactionId":"7","environment":"Production","bundleIds":["com.example.app"]}"#
        #expect(String(decoding: receipt.body, as: UTF8.self) == text)
    }

    @Test(
        arguments: [
            ("", .notAnObject), ("[]", .notAnObject), (#"{"user":"a","environment":"Sandbox"}"#, .noReceiptData),
            (#"{"receiptData":7,"user":"a","environment":"Sandbox"}"#, .noReceiptData),
            (#"{"receiptData":"","user":"a","environment":"Sandbox"}"#, .noReceiptData),
            (#"{"receiptData":"MII\u0000","user":"a","environment":"Sandbox"}"#, .noReceiptData),
            (#"{"receiptData":"MII","environment":"Sandbox"}"#, .user),
            (#"{"receiptData":"MII","user":null,"environment":"Sandbox"}"#, .user),
            (#"{"receiptData":"MII","user":"","environment":"Sandbox"}"#, .user),
            (#"{"receiptData":"MII","user":"a\u0000","environment":"Sandbox"}"#, .user),
            (#"{"receiptData":"MII","user":"a"}"#, .environment),
            (#"{"receiptData":"MII","user":"a","environment":"Sandbox","transactionId":7}"#, .transactionID),
            (#"{"receiptData":"MII","user":"a","environment":"Sandbox","transactionId":""}"#, .transactionID),
            (#"{"receiptData":"MII","user":"a","environment":"Sandbox","bundleIds":[7]}"#, .bundleIDs),
        ] as [(String, ClientReceipt.Malformed)]
    )
    func `a malformed body is refused with its reason`(body: String, reason: ClientReceipt.Malformed) {
        #expect(throws: reason) { try ClientReceipt(body: Array(body.utf8)) }
    }

    @Test func `names have at most 255 characters`() {
        let long = String(repeating: "é", count: 256)
        for (user, transactionID, reason) in [(long, nil, ClientReceipt.Malformed.user), ("a", long, .transactionID)] {
            #expect(throws: reason) {
                try ClientReceipt(receiptData: "MII", user: user, transactionID: transactionID, environment: .production, bundleIDs: nil)
            }
        }
    }
}
