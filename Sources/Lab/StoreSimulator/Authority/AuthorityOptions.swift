package import AppStore

/// Validity periods and deliberate flaws of a test authority's certificates.
package struct AuthorityOptions: Sendable {
    /// A span of time, both ends included, to the second.
    package struct Validity: Hashable, Sendable {
        package var notBefore: Timestamp
        package var notAfter: Timestamp

        package init(notBefore: Timestamp, notAfter: Timestamp) {
            self.notBefore = notBefore
            self.notAfter = notAfter
        }

        /// About so many years on both sides of an instant.
        package static func years(_ years: Int, around instant: Timestamp) -> Validity {
            let half = Duration.seconds(years * 365 * 86_400 + 86_400)
            return Validity(notBefore: instant.advanced(by: .zero - half), notAfter: instant.advanced(by: half))
        }

        package func contains(_ instant: Timestamp) -> Bool { notBefore <= instant && instant <= notAfter }
    }

    /// A flaw of a chain, for tests that it is refused.
    package enum Flaw: Hashable, Sendable, CaseIterable {
        case intermediateWithoutMarker
        case leafWithoutMarker
        case intermediateIsNoAuthority
        case intermediateMayNotSignCertificates
        case leafIsAuthority
        case leafMayNotSign
        /// The intermediate names the root as its issuer, but another key signed it.
        case intermediateNotSignedByRoot
        /// The leaf names the intermediate as its issuer, but another key signed it.
        case leafNotSignedByIntermediate
    }

    /// The organization in all names. Two authorities with the same one have equal names and different keys.
    package var organization = "Simulated Inc."
    package var rootValidity: Validity
    package var intermediateValidity: Validity
    package var leafValidity: Validity
    package var flaws: Set<Flaw> = []
    /// Where the OCSP responder is said to be: `http://` and a host. Nothing can be fetched from the default.
    package var responder = CertificateExtensions.host

    /// Validity periods like Apple's: two years for the leaf, decades for the others, with `instant` in the middle.
    package init(around instant: Timestamp) {
        rootValidity = .years(25, around: instant)
        intermediateValidity = .years(15, around: instant)
        leafValidity = .years(1, around: instant)
    }

    /// All three certificates are valid for decades around `instant`, for lives of many years.
    package static func longLived(around instant: Timestamp) -> AuthorityOptions {
        var options = AuthorityOptions(around: instant)
        options.leafValidity = .years(15, around: instant)
        return options
    }
}
