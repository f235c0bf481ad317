/// The receipt of a single transaction as iOS 6 and earlier made them: text like a property list of NeXTSTEP's, in base64.
///
/// `{ "signature" = "…"; "purchase-info" = "…"; "environment" = "Sandbox"; "pod" = "100"; "signing-status" = "0"; }`. It is only recognised,
/// so that its sender can be told what it is: nothing that it says is verified, and only Apple's verifyReceipt can.
package struct TransactionReceipt: Hashable, Sendable {
    /// What the outer text names, `Sandbox`; absent in Production.
    package let environment: String?
    /// What the purchase's own text names, by its keys: `transaction-id`, `product-id`, `bid`, `original-transaction-id` and more.
    package let purchase: [String: String]

    /// Nil for anything without `signature` and `purchase-info`.
    package init?(_ text: ArraySlice<UInt8>) {
        guard let members = Self.members(of: text), members["signature"] != nil, let encoded = members["purchase-info"] else { return nil }
        environment = members["environment"]
        let purchase = Base64.decodeLoosely(Array(encoded.utf8)[...]) ?? []
        self.purchase = Self.members(of: purchase[...]) ?? [:]
    }

    /// The members of `{ "name" = "value"; … }`; nil for anything else. Nothing genuine has an escape or more than some thirty members.
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
