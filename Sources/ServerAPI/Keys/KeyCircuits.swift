import AppStore
package import Outbox

/// Which key of an app is used, and which wait because Apple has refused them with 401. A value without I/O.
///
/// The state of a key for an app in an environment is one of:
/// - unknown: not yet used. Can become good or refused.
/// - good: its latest answer was none of 401. Can become refused.
/// - refused: waits for 1, 2, 4 … 15 minutes, then it is tried again, unless another key is good. Can become good.
package struct KeyCircuits: Sendable {
    struct Place: Hashable, Sendable {
        let key: APIKey.ID
        let lane: CallLane
    }

    /// What is known of a key for an app in an environment.
    struct Record: Hashable, Sendable {
        /// Of the key: a reload may have replaced it under its name, and nothing is known of the new one.
        let fingerprint: String
        var refusals = 0
        fileprivate var refusedAt: Timestamp?
        /// The first of these refusals.
        fileprivate var firstRefusedAt: Timestamp?
        fileprivate var goodAt: Timestamp?
        /// This machine's clock minus Apple's, at the latest answer with a date.
        var skew: Duration?

        var isRefused: Bool { refusals > 0 }
        /// How much longer it waits; nil when it may be used. A refusal in the future is one of before the clock was set back.
        func waits(at now: Timestamp) -> Duration? {
            guard let refusedAt, refusedAt <= now else { return nil }
            let end = refusedAt.advanced(by: min(.seconds(60) * (1 << min(max(refusals - 1, 0), 4)), .seconds(900)))
            return end > now ? .milliseconds(end.millisecondsSince1970 - now.millisecondsSince1970) : nil
        }
    }

    /// The key to use next.
    enum Choice {
        case use(APIKey)
        case wait(Duration)
        /// No key signs for the app.
        case none
    }

    private(set) var records: [Place: Record] = [:]

    package init() {}

    func record(of key: APIKey, _ lane: CallLane) -> Record {
        let known = records[Place(key: key.id, lane: lane)].flatMap { $0.fingerprint == key.fingerprint ? $0 : nil }
        return known ?? Record(fingerprint: key.fingerprint)
    }

    /// The first key that is not refused; else the one that has waited to its end.
    ///
    /// - Parameter tried: refused in this request.
    func choose(of keys: [APIKey], for lane: CallLane, tried: Set<APIKey.ID>, now: Timestamp) -> Choice {
        let left = keys.filter { !tried.contains($0.id) }
        if let key = left.first(where: { !record(of: $0, lane).isRefused }) { return .use(key) }
        if let key = left.first(where: { record(of: $0, lane).waits(at: now) == nil }) { return .use(key) }
        return keys.isEmpty ? .none : .wait(keys.compactMap { record(of: $0, lane).waits(at: now) }.min() ?? .seconds(1))
    }

    /// Records an answer. True where it changes what is known: the first refusal, or the first success after one.
    ///
    /// - Parameter date: the answer's Date.
    mutating func record(_ key: APIKey, _ lane: CallLane, isRefused: Bool, date: Timestamp?, now: Timestamp) -> Bool {
        var record = record(of: key, lane)
        let was = record
        record.skew = date.map { .milliseconds(now.millisecondsSince1970 - $0.millisecondsSince1970) } ?? record.skew
        if isRefused {
            // Requests that were in flight together are refused together.
            if record.waits(at: now) == nil { record.refusals += 1 }
            record.refusedAt = now
            record.firstRefusedAt = record.firstRefusedAt ?? now
        } else {
            (record.refusals, record.refusedAt, record.firstRefusedAt, record.goodAt) = (0, nil, nil, now)
        }
        records[Place(key: key.id, lane: lane)] = record
        return was.isRefused != record.isRefused
    }

    /// Why Apple refuses the key for the app, as far as the answers tell.
    package func diagnosis(_ key: APIKey.ID, _ lane: CallLane) -> KeyRefusal {
        let own = records[Place(key: key, lane: lane)]
        if let skew = own?.skew, abs(skew / .seconds(1)) > KeyRefusal.allowedSkew { return .clock(skew) }
        // Of a key that was good here, only answers since then tell why it is not any more.
        let since = own?.goodAt == nil ? nil : own?.firstRefusedAt
        let good = records.filter { !$0.value.isRefused && ($0.value.goodAt.map { at in since.map { at > $0 } ?? true } ?? false) }.keys
        if lane.environment == .production, good.contains(where: { $0.key == key && $0.lane == CallLane(lane.bundleID, .sandbox) }) {
            return .notReleased
        }
        if good.contains(where: { $0.key != key && $0.key.issuer == key.issuer && $0.lane.bundleID == lane.bundleID }) { return .key }
        if let other = good.first(where: { $0.key.issuer != key.issuer && $0.lane.bundleID == lane.bundleID }) {
            return .issuer(other.key.issuer)
        }
        if own?.goodAt != nil { return .revoked }
        let others = good.filter { $0.key == key && $0.lane.bundleID != lane.bundleID }.map(\.lane.bundleID)
        return others.min().map { .app(works: $0) } ?? .unknown
    }
}

/// Why Apple answers 401, whose body is empty. The causes look alike; other answers tell them apart.
package enum KeyRefusal: Hashable, Sendable {
    /// Seconds between this clock and Apple's that are no cause: tokens are dated back by a minute.
    fileprivate static let allowedSkew = 55.0

    /// This machine's clock is that far ahead of Apple's; negative where it is behind.
    case clock(Duration)
    /// The key is good in Sandbox.
    case notReleased
    /// Another key of the same account is good for this app.
    case key
    /// A key of this other account is good for this app.
    case issuer(String)
    /// The key is good for this other app.
    case app(works: String)
    /// The key was good here before, and nothing says that it still is anywhere.
    case revoked
    case unknown

    /// A code for logs.
    package var code: String {
        switch self {
        case .clock: "clock"
        case .notReleased: "app_not_released"
        case .key: "key"
        case .issuer: "issuer"
        case .app: "bundle_id"
        case .revoked: "revoked"
        case .unknown: "unknown"
        }
    }

    /// All codes.
    static let codes = [Self.clock(.zero), .notReleased, .key, .issuer(""), .app(works: ""), .revoked, .unknown].map(\.code)

    /// What the cause is.
    package var explanation: String {
        switch self {
        case .clock(let skew):
            "the clock of this machine is \(Int((abs(skew / .seconds(1))).rounded())) s \(skew < .zero ? "behind" : "ahead of") Apple's"
        case .notReleased: "Apple accepts the key in Sandbox and not in Production: the app was never released, or has left the App Store"
        case .key: "Apple accepts another key of the account for this app: this one was revoked, or is not of the kind In-App Purchase"
        case .issuer(let other): "the app belongs to another account: Apple accepts the key of issuer \(other)"
        case .app(let other): "Apple accepts the key for \(other): this app belongs to another account, or its bundle id is misspelt"
        case .revoked: "Apple accepted the key until now: it was probably revoked"
        case .unknown:
            "the key was revoked, is not of the kind In-App Purchase, or is in the folder of another issuer; or the app belongs to another account"
        }
    }

    /// What to do.
    package var remedy: String {
        switch self {
        case .clock: "synchronise the clock (chrony, systemd-timesyncd)"
        case .notReleased: "nothing before the release; or set environments to Sandbox"
        case .key: "remove the file of the refused key"
        case .issuer(let other): "name it in api-issuers: BUNDLE=\(other)"
        case .app: "correct apps, or add the other account's key and name it in api-issuers"
        case .revoked: "look it up in App Store Connect (Users and Access, Integrations, In-App Purchase), and add a new key"
        case .unknown: "compare key id and issuer id in App Store Connect: Users and Access, Integrations, In-App Purchase"
        }
    }
}
