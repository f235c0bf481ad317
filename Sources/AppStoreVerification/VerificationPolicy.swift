package import AppStore
internal import OpenSSL

/// The accepted apps and environments of payloads, and the trusted roots.
package struct VerificationPolicy: Sendable {
    /// The accepted apps; nil accepts any.
    package var apps: [App]?
    /// The accepted environments; nil accepts any that the root is trusted for.
    package var environments: Set<AppStoreEnvironment>?
    /// The only trust anchors.
    package var roots: [TrustedRoot]
    /// An `appAppleId` required of Production payloads of any bundle, for inspection; nil checks nothing.
    package var appAppleID: Int64?
    /// How far a signedDate may lie after the time of receipt, because clocks differ.
    package var clockTolerance: Duration = .seconds(5 * 60)
    /// The revoked certificates below these roots, as far as they are known. Chains of receipts are not looked up.
    package var revocations = Revocations()

    package init(apps: [App]?, environments: Set<AppStoreEnvironment>?, roots: [TrustedRoot] = [.appleRootCAG3], appAppleID: Int64? = nil) {
        self.apps = apps
        self.environments = environments
        self.roots = roots
        self.appAppleID = appAppleID
    }
}

extension VerificationPolicy {
    /// Checks the environment, app and signing date of genuine content, signed below `anchor`.
    func check(
        _ subject: Subject,
        signedAt signedDate: Timestamp,
        below anchor: Certificate,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) {
        try diagnostics.check(.environment) { () throws(Flaw) in try checkEnvironment(of: subject, anchor: anchor) }
        // A renewal info names no app; the enclosing notification does.
        if subject.kind != .renewalInfo {
            try diagnostics.check(.app) { () throws(Flaw) in try checkApp(of: subject) }
        }
        try diagnostics.check(.clock) { () throws(Flaw) in
            guard signedDate <= receivedAt.advanced(by: clockTolerance) else { throw Flaw(.signedInTheFuture) }
        }
    }

    private func checkEnvironment(of subject: Subject, anchor: Certificate) throws(Flaw) {
        let environment = subject.environment
        let unreadable = subject.unreadable.environment
        guard environment != nil || unreadable != nil || !subject.kind.requiresEnvironment else { throw Flaw(.environmentMissing) }
        guard environment != .xcode, environment != .localTesting else { throw Flaw(.environmentNotSupported) }
        guard roots.contains(where: { $0.certificate == anchor && $0.isTrusted(for: environment) }) else {
            throw Flaw(.environmentNotTrustedByRoot)
        }
        // Old transactions and renewal infos name none; the enclosing notification is checked instead.
        if let environments, let environment, !environments.contains(environment) { throw Flaw(.wrongEnvironment) }
        if let unreadable { throw .unreadable(unreadable) }
    }

    private func checkApp(of subject: Subject) throws(Flaw) {
        if subject.bundleID == nil, let unreadable = subject.unreadable.bundleID { throw .unreadable(unreadable) }
        guard subject.bundleID != nil || (apps == nil && subject.kind != .receipt) else { throw Flaw(.bundleMissing) }
        var required = [appAppleID]
        if let apps {
            let configured = apps.filter { $0.bundleID == subject.bundleID }
            guard !configured.isEmpty else { throw Flaw(.wrongBundle) }
            required += configured.map(\.appAppleID)
        }
        let isMet = required.allSatisfy { Self.isMet($0, by: subject) }
        if subject.appAppleID == nil, !isMet, let unreadable = subject.unreadable.appAppleID { throw .unreadable(unreadable) }
        guard isMet else { throw Flaw(.wrongAppAppleID) }
        if let unreadable = subject.unreadable.bundleID { throw .unreadable(unreadable) }
    }

    /// In the sandbox the number may be absent or zero. A transaction has none, and a receipt may have none.
    private static func isMet(_ required: Int64?, by subject: Subject) -> Bool {
        guard let required, subject.environment == .production, subject.kind != .transaction else { return true }
        guard let number = subject.appAppleID else { return subject.kind == .receipt }
        return number == required
    }
}

/// An app whose notifications and purchases are accepted.
package struct App: Hashable, Sendable {
    /// The bundle identifier, as in `com.example.app`.
    package var bundleID: String
    /// The app's number in the App Store, required of Production payloads; nil checks nothing.
    package var appAppleID: Int64?

    package init(bundleID: String, appAppleID: Int64? = nil) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
    }
}

/// The certificates that their issuers have revoked.
package struct Revocations: Hashable, Sendable {
    /// By SHA-256 of the certificate.
    private var dates: [[UInt8]: RefusedDates] = [:]

    /// Which signing dates are refused.
    package enum RefusedDates: Hashable, Sendable {
        /// What was signed earlier stands.
        case from(Timestamp)
        /// The holder of a stolen key can choose the date.
        case all
    }

    package init() {}

    package var count: Int { dates.count }

    /// - Parameter fingerprint: SHA-256 of the certificate in DER.
    package mutating func add(_ fingerprint: [UInt8], refusing refused: RefusedDates) {
        dates[fingerprint] = refused
    }

    /// The index of the first certificate that is refused for a signing date.
    func refused(_ fingerprints: [[UInt8]], signedAt date: Timestamp) -> Int? {
        guard !dates.isEmpty else { return nil }
        return fingerprints.firstIndex { fingerprint in
            switch dates[fingerprint] {
            case .from(let first)?: date >= first
            case .all?: true
            case nil: false
            }
        }
    }
}
