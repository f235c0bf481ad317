import AppStore

/// What verifyReceipt was asked.
package struct VerifyReceiptQuestion: Hashable, Sendable {
    package let host: SimulatedReceiptHost
    /// `receipt-data`; nil where it is missing, or no text.
    package let receiptData: String?
    package let password: String?

    /// Reads the body of a request; one that is no JSON asks nothing.
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

extension VerifyReceiptQuestion: CustomStringConvertible, CustomReflectable {
    /// Neither the receipt nor the secret.
    package var description: String { "a question to \(host.rawValue)" }
    package var customMirror: Mirror { Mirror(self, children: ["host": host.rawValue]) }
}

extension JSONValue {
    fileprivate var text: String? {
        if case .string(let text) = self { text } else { nil }
    }
}
