internal import COpenSSL

/// Precomputed multiples of a public key's point on P-256. A verification with them costs two fixed-base multiplications, less than half of
/// libcrypto's time for a key without a table. For keys that verify many signatures, such as Apple's few leaf keys: the table takes 150 KB
/// and the time of four hundred verifications.
///
/// For every w in 1 ..< n, x(e·w·G + r·w·Q) = r modulo n is the ECDSA equation for the signature (r, w⁻¹). libcrypto confirms w·s = 1
/// modulo n, so an accepted signature satisfies the equation for (r, s), whatever ``Scalar256`` computes. A wrong w only makes
/// ``verify(_:digest:)`` return false, and ``PublicKey`` then lets libcrypto's own verification decide. The table is tested when it is
/// made, and libcrypto confirms one of a thousand answers (``PointTableUse``).
///
/// `@unchecked Sendable`: this object alone owns the groups and only reads them after init; each verification has its own points and its
/// own `BN_CTX`.
final class PointTable: @unchecked Sendable {
    /// How a verification gets its candidate for 1/s modulo n.
    typealias Inversion = @Sendable (Scalar256) -> Scalar256

    /// Whether this libcrypto has the functions that tables need.
    static let isSupported = COpenSSL_has_tables() == 1

    private let curve: OpaquePointer
    /// The curve with the key's point as its generator, and the table of its multiples.
    private let group: OpaquePointer
    /// n, the order of both points.
    private let order: OpaquePointer
    /// p, the modulus of the coordinates.
    private let prime: OpaquePointer
    private let inverse: Inversion

    /// Nil if this libcrypto builds no such tables, if the key is not on P-256, or if the table contradicts libcrypto's own multiplication.
    init?(of key: OpaquePointer, inverse: @escaping Inversion = { $0.inverse }) {
        defer { ERR_clear_error() }
        guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), let group = EC_GROUP_dup(curve),
            let order = EC_GROUP_get0_order(curve), let prime = EC_GROUP_get0_field(curve)
        else {
            return nil
        }
        (self.curve, self.group, self.order, self.prime) = (curve, group, order, prime)
        self.inverse = inverse
        guard let point = Self.point(of: key, on: curve) else { return nil }
        defer { EC_POINT_free(point) }
        guard EC_GROUP_set_generator(group, point, order, BN_value_one()) == 1, COpenSSL_EC_GROUP_precompute(group) == 1 else { return nil }
        guard hasMultiples(of: point) else { return nil }
    }

    deinit {
        EC_GROUP_free(group)
        EC_GROUP_free(curve)
    }

    /// Whether r and s, side by side in 64 bytes, are a signature of this digest of 32 bytes (SEC 1 §4.1.4): whether each is in 1 ..< n and
    /// the point e/s · G + r/s · Q has r for its x coordinate, modulo n.
    ///
    /// Also false for a genuine signature if the computed inverse of s is wrong.
    func verify(_ signature: [UInt8], digest: [UInt8]) -> Bool {
        // 0 and n have no inverse.
        guard ECDSASignature.isWellFormed(raw: signature), digest.count == 32 else { return false }
        guard let context = BN_CTX_new() else { return false }
        defer { BN_CTX_free(context) }
        BN_CTX_start(context)
        defer { BN_CTX_end(context) }
        // BN_CTX_get returns nil after its first failure, so the check of the last one covers all.
        let (e, r, s, w, u) = (BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context))
        let (x, z) = (BN_CTX_get(context), BN_CTX_get(context))
        guard let square = BN_CTX_get(context), let sum = EC_POINT_new(curve) else { return false }
        defer { EC_POINT_free(sum) }
        guard let other = EC_POINT_new(group) else { return false }
        defer { EC_POINT_free(other) }
        let candidate = inverse(Scalar256(bigEndian: signature[32...])).bigEndian
        let isInverse =
            BN_bin2bn(Array(signature[32...]), 32, s) != nil && BN_bin2bn(candidate, 32, w) != nil
            && BN_mod_mul(u, w, s, order, context) == 1 && BN_is_one(u) == 1
        let isComputed =
            isInverse && BN_bin2bn(digest, 32, e) != nil && BN_bin2bn(signature, 32, r) != nil
            && BN_mod_mul(u, e, w, order, context) == 1 && EC_POINT_mul(curve, sum, u, nil, nil, context) == 1
            && BN_mod_mul(u, r, w, order, context) == 1 && EC_POINT_mul(group, other, u, nil, nil, context) == 1
            && EC_POINT_add(curve, sum, sum, other, context) == 1 && EC_POINT_is_at_infinity(curve, sum) == 0
            && COpenSSL_EC_POINT_get_XZ(curve, sum, x, z, context) == 1 && BN_mod_sqr(square, z, prime, context) == 1
        // The coordinate is x/z². Comparing it with r, and with r + n if that is below p, needs no division, which takes ten times as long.
        while isComputed, BN_cmp(r, prime) < 0, BN_mod_mul(u, r, square, prime, context) == 1 {
            if BN_cmp(u, x) == 0 { return true }
            guard BN_add(r, r, order) == 1 else { break }
        }
        ERR_clear_error()
        return false
    }

    /// Whether eight random multiples from the table equal those that libcrypto computes without it.
    private func hasMultiples(of point: OpaquePointer) -> Bool {
        guard let context = BN_CTX_new() else { return false }
        defer { BN_CTX_free(context) }
        guard let factor = BN_new() else { return false }
        defer { BN_free(factor) }
        guard let tabulated = EC_POINT_new(group) else { return false }
        defer { EC_POINT_free(tabulated) }
        guard let computed = EC_POINT_new(curve) else { return false }
        defer { EC_POINT_free(computed) }
        return (0..<8).allSatisfy { _ in
            BN_rand_range(factor, order) == 1
                && EC_POINT_mul(group, tabulated, factor, nil, nil, context) == 1
                && EC_POINT_mul(curve, computed, nil, point, factor, context) == 1
                && EC_POINT_cmp(curve, tabulated, computed, context) == 0
        }
    }

    private static func point(of key: OpaquePointer, on curve: OpaquePointer) -> OpaquePointer? {
        var bytes = [UInt8](repeating: 0, count: 65)
        var count = 0
        guard EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, &bytes, bytes.count, &count) == 1,
            let point = EC_POINT_new(curve)
        else {
            return nil
        }
        // Refuses what is not on the curve.
        if EC_POINT_oct2point(curve, point, bytes, count, nil) == 1 { return point }
        EC_POINT_free(point)
        return nil
    }
}
