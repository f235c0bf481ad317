import AppStore
import Testing

struct PostedReceiptTests {
    @Test(
        arguments: [
            ("not json", nil), ("{}", nil), (#"{"receiptData":7}"#, nil), (#"{"receiptData":"MI\nIB \t\r\n"}"#, "MIIB"),
            (#"{"receiptData":" "}"#, nil), (#"{"notification_type":"X","unified_receipt":{"latest_receipt":"MIIC"}}"#, "MIIC"),
            (#"{"notification_type":"X","latest_receipt":"MIID"}"#, "MIID"),
        ] as [(String, String?)]
    )
    func `the receipt in an event's body is found, without white space`(body: String, data: String?) {
        #expect(PostedReceipt.data(inEventBody: Array(body.utf8)) == data)
    }
}
