import StrictJSON

/// The receipt in an event's body, as sent to Apple's verifyReceipt.
package enum PostedReceipt {
    /// The receipt in base64 and without white space, of a body of source `client_receipt` or `notification_v1`; nil when there is none.
    package static func data(inEventBody body: [UInt8]) -> String? {
        let text: String?
        do {
            let json = try JSONParser().parseObject(body)
            if case .string(let posted)? = json["receiptData"] { text = posted } else { text = ResponseBodyV1(decoding: json).receiptData }
        } catch {
            return nil
        }
        let data = text.map { String(decoding: $0.utf8.filter { !(0x09...0x0d).contains($0) && $0 != 0x20 }, as: UTF8.self) }
        return data.flatMap { $0.isEmpty ? nil : $0 }
    }
}
