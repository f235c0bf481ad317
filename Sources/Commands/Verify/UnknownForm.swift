import AppStore

/// Input that is nothing that Apple signs, in words for a person.
struct UnknownForm {
    /// The reason in the report.
    static let reason = "unknown_form"
    /// Every form of input that can be verified.
    static let expected = [
        "a signed payload (three base64url parts separated by dots)", "a receipt (binary or in base64)",
        "the JSON of a notification V2 or V1",
    ]

    private let bytes: ArraySlice<UInt8>

    /// Nil for bytes that look like a receipt.
    init?(_ bytes: ArraySlice<UInt8>) {
        switch ReceiptInput(bytes) {
        case .appReceipt, .transactionReceipt: return nil
        case .other, .notBase64, .empty: self.bytes = bytes
        }
    }

    /// Shows four bytes only: enough to recognise a file's format, and too few to disclose a secret.
    var words: String {
        let first = bytes.prefix(4)
        let isText = first.allSatisfy { (0x20...0x7e).contains($0) }
        let shown =
            isText
            ? "\"\(String(decoding: first, as: UTF8.self))\""
            : first.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
        return "neither \(Self.expected.joined(separator: ", nor ")): it begins with \(shown)"
    }

    /// What is wrong with JSON that is no notification; nil for other reasons.
    static func words(for reason: String) -> String? {
        switch reason {
        case "not_json": "it begins like JSON, and is not valid JSON"
        case "no_notification_type": "JSON without the text signedPayload of a notification V2 and without the notification_type of V1"
        case "not_a_compact_jws": "signedPayload is not three base64url parts separated by dots"
        default: nil
        }
    }
}
