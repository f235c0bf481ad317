package import AppStore

/// The authority that signs a receipt.
package enum ReceiptIssuer: Sendable {
    case store
    /// Another authority with the same names in its certificates.
    case untrusted
}

/// A receipt, and the text that clients or the store send in its place.
package struct LifeReceipt: Sendable {
    /// Whether the text is genuine, and if not, why.
    package enum State: Sendable {
        /// Signed by the store, for the app.
        case genuine
        /// Not sent.
        case missing
        /// Signed by an untrusted authority.
        case forged
        /// Truncated.
        case cutOff
        /// Signed by the store, for another app.
        case foreign
    }

    package let receipt: AppReceipt
    /// Base64, or a name where the receipt is not read.
    package let text: String
    package let state: State

    package init(receipt: AppReceipt, text: String, state: State = .genuine) {
        self.receipt = receipt
        self.text = text
        self.state = state
    }

    /// Only a genuine receipt counts.
    package var isGenuine: Bool { state == .genuine }

    /// The text that is sent; nil when the receipt is missing.
    package var sentText: String? { state == .missing ? nil : text }

    /// The version of all facts in the receipt.
    package var madeAt: Timestamp { receipt.creationDate ?? Timestamp(millisecondsSince1970: 0) }
}

extension HistoryGenerator {
    /// A damaged, forged or missing version of the receipt.
    mutating func corrupt(_ receipt: LifeReceipt, asPost: Bool = false) throws -> LifeReceipt {
        let states: [LifeReceipt.State] = [.forged, .cutOff, .foreign] + (asPost ? [] : [.missing])
        let state = states.randomElement(using: &generator) ?? .forged
        var content = receipt.receipt
        let sixteenths = Int.random(in: 1...15, using: &generator)
        switch state {
        case .genuine, .missing: return LifeReceipt(receipt: content, text: receipt.text, state: state)
        case .cutOff:
            let count = max(1, receipt.text.utf8.count * sixteenths / 16)
            return LifeReceipt(receipt: content, text: String(receipt.text.prefix(count)), state: state)
        case .foreign: content.bundleID = Self.foreignBundleID
        case .forged: break
        }
        return try sign(content, as: state)
    }
}
