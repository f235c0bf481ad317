import AppStore

/// What the senders know of one body: its kind, how often it was sent, and the answers.
struct PostRecord: Hashable {
    /// The kind of a body, which determines its allowed outcomes.
    enum Kind: Hashable {
        /// Signed by the store, with this notificationUUID.
        case genuine(uuid: String)
        /// Well-formed, but not signed by the store.
        case forged
        /// Not a notification: ingest refuses it.
        case malformed
    }

    /// The position of a customer's event in the load, from which it can be generated again.
    struct Origin: Hashable {
        let segment: Int
        /// Index into the history's events.
        let event: Int
        /// When the outer JWS was signed again; nil for the first signature.
        let resignedAt: Timestamp?
    }

    let kind: Kind
    /// Nil for bodies that concern no customer.
    let origin: Origin?
    /// Whether the store's clock was ahead at signing, so that the event may have to wait.
    let isAhead: Bool
    /// How often the whole body was sent; each time may have stored it once.
    var sent = 0
    /// How often it was answered with 200; each time has stored it once.
    var accepted = 0
    /// The distinct statuses other than 200.
    var refusals: Set<Int> = []

    init(_ kind: Kind, origin: Origin? = nil, isAhead: Bool = false) {
        self.kind = kind
        self.origin = origin
        self.isAhead = isAhead
    }
}
