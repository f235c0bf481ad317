import StrictJSON

/// A receipt that is used as it is, because Apple's answer about it is missing or unusable.
///
/// The body of an inbox event of source `unanswered_receipt`. `appstore.fall_back` makes it from a genuine post, whose user is already
/// recorded.
package struct UnansweredReceipt: Hashable, Sendable {
    /// In base64.
    package let receiptData: String

    /// Why a body is malformed; the raw value is the code that is stored and shown.
    package enum Malformed: String, Error, CaseIterable, Sendable {
        /// No JSON object.
        case notAnObject = "not_a_json_object"
        /// No member `receiptData`, or one that is no string, or empty.
        case noReceiptData = "no_receipt_data"
    }

    package init(body: [UInt8]) throws(Malformed) {
        let object = try JSONObject(body: body, or: Malformed.notAnObject)
        guard case .string(let data)? = object["receiptData"], !data.isEmpty else { throw .noReceiptData }
        receiptData = data
    }
}
