package import AppStore

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
