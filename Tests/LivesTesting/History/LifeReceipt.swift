package import AppStore

/// Who signs a receipt.
package enum ReceiptHand: Sendable {
    case store
    /// Another authority, which calls itself by the store's names.
    case stranger
}

/// A receipt, and what goes by that name in what clients and the store send.
package struct LifeReceipt: Sendable {
    /// What became of it on its way.
    package enum State: Sendable {
        /// It is the store's, and about the app.
        case genuine
        /// It was left out.
        case missing
        /// Somebody else than the store signed it.
        case forged
        /// Its end is lost.
        case cutOff
        /// It is the store's, and about another app.
        case foreign
    }

    package let receipt: AppReceipt
    /// In base64; a name that stands for it where nobody looks inside.
    package let text: String
    package let state: State

    package init(receipt: AppReceipt, text: String, state: State = .genuine) {
        self.receipt = receipt
        self.text = text
        self.state = state
    }

    /// What it says counts only then.
    package var isGenuine: Bool { state == .genuine }

    /// What is sent; nil when nothing is.
    package var sentText: String? { state == .missing ? nil : text }

    /// The version of everything in it.
    package var madeAt: Timestamp { receipt.creationDate ?? Timestamp(millisecondsSince1970: 0) }
}

extension HistoryAuthor {
    /// The same receipt as it is when something went wrong with it, or somebody meant ill.
    mutating func spoil(_ receipt: LifeReceipt, asPost: Bool = false) throws -> LifeReceipt {
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
