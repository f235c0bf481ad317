/// Why our answer to a case of x509-limbo differs from the expected one.
///
/// The cases are made for browsers and their servers. The validation here is the path validation of RFC 5280 §6 and leaves out what
/// belongs to TLS or only to the profile that certificate authorities promise to follow (§4): a sandbox root of one's own need not follow
/// it, and nothing of it lets a forged chain through.
enum LimboExceptions {
    private static let anchor = "refused: an anchor must be self-signed; this one was issued by a certificate that is not trusted"
    private static let hostName = "accepted: host names, and constraints on them, mean nothing here; no caller connects to a host"
    private static let extendedUsage =
        "accepted: extended key usage is a rule of TLS; App Store certificates are recognised by marker extensions"
    private static let depth = "accepted: callers hand over one intermediate, so that there is no depth to limit"
    private static let keyIdentifier = "accepted: key identifiers help to find an issuer and prove nothing; the signature does"
    private static let serialNumber = "accepted: a rule for authorities about serial numbers, which nothing here looks at"
    private static let configuredRoot =
        "accepted: a root is trusted because it is configured, whatever it says about itself (RFC 5280 §6.1.1 d)"

    static let reasons = [
        "cve::cve-2024-0567": anchor,
        "rfc5280::root-and-intermediate-swapped": anchor,
        "cve::cve-2025-61727": hostName,
        "rfc5280::ca-as-leaf-wrong-san": hostName,
        "rfc5280::eku::ee-wrong-eku": extendedUsage,
        "rfc5280::eku::ee-eku-empty": extendedUsage,
        "pathlen::max-chain-depth-0-exhausted": depth,
        "pathlen::max-chain-depth-1-exhausted": depth,
        "rfc5280::aki::leaf-missing-aki": keyIdentifier,
        "rfc5280::aki::intermediate-missing-aki": keyIdentifier,
        "rfc5280::ski::root-missing-ski": keyIdentifier,
        "rfc5280::ski::intermediate-missing-ski": keyIdentifier,
        "rfc5280::serial::too-long": serialNumber,
        "rfc5280::serial::zero": serialNumber,
        "rfc5280::root-missing-basic-constraints": configuredRoot,
        "rfc5280::root-non-critical-basic-constraints": configuredRoot,
        "rfc5280::leaf-ku-keycertsign": "accepted: a leaf that claims keyCertSign without being an authority still issues nothing",
        "rfc5280::pc::ica-noncritical-pc": "accepted: policy constraints are read, only their being critical is a rule for authorities",
    ]
}
