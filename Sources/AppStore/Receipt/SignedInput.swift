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

/// The form of an input that should be a receipt, recognised by its first bytes.
package enum ReceiptInput: Hashable, Sendable {
    /// The encoding of an app receipt, or of other ASN.1.
    case appReceipt([UInt8])
    /// The iOS 6 style receipt of a single transaction.
    case transactionReceipt(TransactionReceipt)
    /// Base64 of other bytes.
    case other
    /// Neither ASN.1 nor base64.
    case notBase64
    case empty

    /// Recognises ASN.1, raw or in base64; ignores white space around and within base64.
    package init(_ input: ArraySlice<UInt8>) {
        // A receipt has more than 127 bytes, so the octet after its tag is at least 0x80, which base64 text does not contain.
        let first = input.prefix(2)
        if first.first == 0x30, first.count == 2, first[first.startIndex + 1] >= 0x80 {
            self = .appReceipt(Array(input))
            return
        }
        if let receipt = TransactionReceipt(input) {
            self = .transactionReceipt(receipt)
            return
        }
        guard let bytes = Base64.decodeLoosely(input) else {
            self = .notBase64
            return
        }
        if let first = bytes.first {
            self = first == 0x30 ? .appReceipt(bytes) : TransactionReceipt(bytes[...]).map(Self.transactionReceipt) ?? .other
        } else {
            self = .empty
        }
    }
}

/// The iOS 6 style receipt of a single transaction: a NeXTSTEP property list, in base64.
///
/// `{ "signature" = "…"; "purchase-info" = "…"; "environment" = "Sandbox"; "pod" = "100"; "signing-status" = "0"; }`. It is
/// parsed only to name it in errors and reports: its content is not verified, and only Apple's verifyReceipt can verify it.
package struct TransactionReceipt: Hashable, Sendable {
    /// `Sandbox`; absent in Production.
    package let environment: String?
    /// The members of `purchase-info`: `transaction-id`, `product-id`, `bid`, `original-transaction-id` and others.
    package let purchase: [String: String]

    /// Returns nil without `signature` and `purchase-info`.
    package init?(_ text: ArraySlice<UInt8>) {
        guard let members = Self.members(of: text), members["signature"] != nil, let encoded = members["purchase-info"] else { return nil }
        environment = members["environment"]
        let purchase = Base64.decodeLoosely(Array(encoded.utf8)[...]) ?? []
        self.purchase = Self.members(of: purchase[...]) ?? [:]
    }

    /// The members of `{ "name" = "value"; … }`; nil for other text. Genuine receipts have no escapes and about thirty members at most.
    private static func members(of text: ArraySlice<UInt8>) -> [String: String]? {
        var scanner = Scanner(text)
        guard scanner.accept(UInt8(ascii: "{")) else { return nil }
        var members: [String: String] = [:]
        while !scanner.accept(UInt8(ascii: "}")) {
            guard members.count < 64, let name = scanner.quoted(), scanner.accept(UInt8(ascii: "=")), let value = scanner.quoted(),
                scanner.accept(UInt8(ascii: ";"))
            else { return nil }
            members[name] = value
        }
        return members
    }

    private struct Scanner {
        private let text: ArraySlice<UInt8>
        private var position: Int

        init(_ text: ArraySlice<UInt8>) {
            self.text = text
            position = text.startIndex
        }

        mutating func accept(_ byte: UInt8) -> Bool {
            while position < text.endIndex, text[position] == 0x20 || (0x09...0x0d).contains(text[position]) { position += 1 }
            guard position < text.endIndex, text[position] == byte else { return false }
            position += 1
            return true
        }

        mutating func quoted() -> String? {
            let quote = UInt8(ascii: "\"")
            guard accept(quote), let end = text[position...].firstIndex(of: quote) else { return nil }
            defer { position = end + 1 }
            return String(validating: text[position..<end], as: UTF8.self)
        }
    }
}
