import StrictJSON

/// The kind of a signed input, recognised by its form; nothing is verified.
package enum SignedInput: Sendable {
    /// A compact JWS.
    case jws(ArraySlice<UInt8>)
    /// The body of a notification V2, to be checked by ``NotificationBody``.
    case notificationV2([UInt8])
    /// The body of a notification V1; only the receipt in it can be verified.
    case notificationV1(NotificationV1Body)
    /// Text beginning with `{` that is not a notification.
    case unknownJSON(NotificationV1Body.Refusal)
    /// A receipt, or any other input, which ``ReceiptInput`` classifies.
    case receipt(ArraySlice<UInt8>)

    /// Classifies the input; ignores white space around text.
    package init(_ input: ArraySlice<UInt8>) {
        // Not trimmed: the last byte of ASN.1 may equal a white space character.
        if case .appReceipt(let encoding) = ReceiptInput(input), encoding.count == input.count {
            self = .receipt(input)
            return
        }
        let text = input.trimmingWhitespace()
        if text.first == UInt8(ascii: "{"), TransactionReceipt(text) == nil {
            self = Self.json(Array(text))
        } else if text.withUnsafeBufferPointer(ByteScan.isCompactJWS) {
            self = .jws(text)
        } else {
            self = .receipt(text)
        }
    }

    private static func json(_ text: [UInt8]) -> SignedInput {
        do throws(NotificationV1Body.Refusal) {
            let body = try NotificationV1Body(text)
            return body.kind == .notificationV1 ? .notificationV1(body) : .notificationV2(text)
        } catch {
            return .unknownJSON(error)
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func trimmingWhitespace() -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else { return [] }
        return self[first...last]
    }
}
