/// Why the verdict on some cases of x509-limbo differs from the expected one.
///
/// The cases are written for TLS. The validation here is the path validation of RFC 5280 §6, without the rules of TLS and without the
/// profile for certificate authorities (§4). A private sandbox root need not follow that profile, and none of its rules prevents a
/// forged chain.
enum LimboExceptions {
    private static let anchor = "refused: an anchor must be self-signed; this one was issued by a certificate that is not trusted"
    private static let hostName = "accepted: host names and their constraints are not checked, as no caller connects to a host"
    private static let extendedUsage =
        "accepted: extended key usage is a rule of TLS; App Store certificates are recognised by marker extensions"
    private static let depth = "accepted: callers pass one intermediate, so the depth needs no limit"
    private static let keyIdentifier = "accepted: key identifiers only help to find an issuer; the signature is the proof"
    private static let serialNumber = "accepted: a rule for authorities about serial numbers, which are not checked here"
    private static let configuredRoot =
        "accepted: a root is trusted because it is configured, whatever its extensions (RFC 5280 §6.1.1 d)"

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
        "rfc5280::leaf-ku-keycertsign": "accepted: a leaf with keyCertSign that is no authority still cannot issue",
        "rfc5280::pc::ica-noncritical-pc": "accepted: policy constraints are applied; that they are critical is a rule for authorities",
    ]
}
