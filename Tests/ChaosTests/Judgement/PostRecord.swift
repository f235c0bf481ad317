import AppStore
import Foundation

/// What the senders know of one body: what it was, how often it was sent, and what was answered.
struct PostRecord: Hashable {
    /// What a body was, and with that what may become of it.
    enum Kind: Hashable {
        /// Signed by the store, under that notificationUUID.
        case genuine(uuid: String)
        /// Of the right shape, but nothing that the store signed.
        case forged
        /// Nothing that could be a notification: ingest refuses it.
        case misshapen
    }

    /// Where in the load a piece of somebody's life came from, so that it can be made again.
    struct Origin: Hashable {
        let chapter: Int
        /// Of the history's events.
        let event: Int
        /// When the outer part was signed anew; nil for the first signature.
        let resignedAt: Timestamp?
    }

    let kind: Kind
    /// Nil for what says nothing about a customer.
    let origin: Origin?
    /// Whether the store's clock was ahead when it was signed, so that it may have to wait until it is true.
    let isAhead: Bool
    /// How often the whole body was sent: each time may have stored it once.
    var sent = 0
    /// How often it was answered with 200: each time has stored it once.
    var accepted = 0
    /// Other statuses than 200 that were answered, each once.
    var refusals: Set<Int> = []

    init(_ kind: Kind, origin: Origin? = nil, isAhead: Bool = false) {
        self.kind = kind
        self.origin = origin
        self.isAhead = isAhead
    }
}
