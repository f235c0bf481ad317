internal import COpenSSL

/// Multiples of a public key's point on P-256, computed once so that each later verification costs two fixed-base multiplications: less than
/// half of what libcrypto takes for a key it sees for the first time. For keys that sign again and again, as Apple's few leaf keys do:
/// the table takes 150 KB and as long as four hundred verifications.
///
/// `@unchecked Sendable`: the group, the curve and the number are owned alone and only read after init; each verification has its own
/// points and its own `BN_CTX`.
final class PointTable: @unchecked Sendable {
    private let curve: OpaquePointer
    /// The curve with the key's point in the place of the base point, and the table of its multiples.
    private let group: OpaquePointer
    /// n, the order of both points.
    private let order: OpaquePointer
    /// p, below which coordinates are.
    private let prime: OpaquePointer

    /// Nil when this libcrypto makes no such tables, or the key is not on P-256.
    init?(of key: OpaquePointer) {
        defer { ERR_clear_error() }
        guard let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1), let group = EC_GROUP_dup(curve),
            let order = EC_GROUP_get0_order(curve), let prime = EC_GROUP_get0_field(curve)
        else {
            return nil
        }
        (self.curve, self.group, self.order, self.prime) = (curve, group, order, prime)
        guard let point = Self.point(of: key, on: curve) else { return nil }
        defer { EC_POINT_free(point) }
        guard EC_GROUP_set_generator(group, point, order, BN_value_one()) == 1, COpenSSL_EC_GROUP_precompute(group) == 1 else { return nil }
    }

    deinit {
        EC_GROUP_free(group)
        EC_GROUP_free(curve)
    }

    /// Whether r and s, side by side in 64 bytes, are a signature of this digest of 32 bytes (SEC 1 §4.1.4): whether each is in 1 ..< n and
    /// the point e/s · G + r/s · Q has r for its x coordinate, modulo n.
    func verify(_ signature: [UInt8], digest: [UInt8]) -> Bool {
        // No number times 0 or n is 1, and who looks for one never ends.
        guard ECDSASignature.isWellFormed(raw: signature), digest.count == 32 else { return false }
        guard let context = BN_CTX_new() else { return false }
        defer { BN_CTX_free(context) }
        BN_CTX_start(context)
        defer { BN_CTX_end(context) }
        // BN_CTX_get answers nil after its first failure, so that the last one vouches for all.
        let (e, r, w, u) = (BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context))
        let (x, z) = (BN_CTX_get(context), BN_CTX_get(context))
        guard let square = BN_CTX_get(context), let sum = EC_POINT_new(curve) else { return false }
        defer { EC_POINT_free(sum) }
        guard let other = EC_POINT_new(group) else { return false }
        defer { EC_POINT_free(other) }
        let inverse = Scalar256(bigEndian: signature[32...]).inverse.bigEndian
        let isComputed =
            BN_bin2bn(digest, 32, e) != nil && BN_bin2bn(signature, 32, r) != nil && BN_bin2bn(inverse, 32, w) != nil
            && BN_mod_mul(u, e, w, order, context) == 1 && EC_POINT_mul(curve, sum, u, nil, nil, context) == 1
            && BN_mod_mul(u, r, w, order, context) == 1 && EC_POINT_mul(group, other, u, nil, nil, context) == 1
            && EC_POINT_add(curve, sum, sum, other, context) == 1 && EC_POINT_is_at_infinity(curve, sum) == 0
            && COpenSSL_EC_POINT_get_XZ(curve, sum, x, z, context) == 1 && BN_mod_sqr(square, z, prime, context) == 1
        // The coordinate is x/z². Whether it is r, or r + n where that is below p, can be told without dividing, which takes ten times as long.
        while isComputed, BN_cmp(r, prime) < 0, BN_mod_mul(u, r, square, prime, context) == 1 {
            if BN_cmp(u, x) == 0 { return true }
            guard BN_add(r, r, order) == 1 else { break }
        }
        ERR_clear_error()
        return false
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
