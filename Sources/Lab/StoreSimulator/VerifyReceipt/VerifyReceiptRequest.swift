import StrictJSON

/// A request to verifyReceipt.
package struct VerifyReceiptRequest: Hashable, Sendable {
    package let host: SimulatedReceiptHost
    /// `receipt-data`; nil when it is missing or not a string.
    package let receiptData: String?
    package let password: String?

    /// Parses the body of a request. Of invalid JSON, all members are nil.
    package init(body: [UInt8], at host: SimulatedReceiptHost) {
        self.host = host
        let members = Self.members(of: body)
        receiptData = members["receipt-data"]?.text
        password = members["password"]?.text
    }

    private static func members(of body: [UInt8]) -> JSONObject {
        do {
            return try JSONParser().parseObject(body)
        } catch {
            return JSONObject()
        }
    }
}

extension VerifyReceiptRequest: CustomStringConvertible, CustomReflectable {
    /// Without the receipt and the secret.
    package var description: String { "a request to \(host.rawValue)" }
    package var customMirror: Mirror { Mirror(self, children: ["host": host.rawValue]) }
}
