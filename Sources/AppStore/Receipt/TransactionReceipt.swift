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
