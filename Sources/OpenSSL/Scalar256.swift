/// A number below the order n of P-256's base point (SEC 2 §2.4.2), for arithmetic with the numbers of a signature.
///
/// Not constant-time: verification has no secrets. Not trusted: ``PointTable/verify(_:digest:)`` has libcrypto check the inverse.
struct Scalar256: Hashable, Sendable {
    /// In 0 ..< n.
    private let digits: SignedDigits

    private static let order = SignedDigits(
        0x33b9_cac2_fc63_2551,
        0x339b_eab6_9c5e_7a13,
        0x3fff_ffff_ffff_fffb,
        0x3fff_ffc0_0000_003f,
        0xff
    )
    /// 1/n modulo 2^62.
    private static let inverseOfOrder: UInt64 = 0x332e_3755_11ff_43b1

    /// Reads 32 bytes, most significant first.
    init(bigEndian bytes: some Collection<UInt8>) {
        var limbs: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for byte in bytes {
            limbs.3 = limbs.3 << 8 | limbs.2 >> 56
            limbs.2 = limbs.2 << 8 | limbs.1 >> 56
            limbs.1 = limbs.1 << 8 | limbs.0 >> 56
            limbs.0 = limbs.0 << 8 | UInt64(byte)
        }
        digits = SignedDigits(limbs)
    }

    private init(_ digits: SignedDigits) {
        self.digits = digits
    }

    /// 32 bytes, most significant first.
    var bigEndian: [UInt8] {
        let limbs = digits.limbs
        return [limbs.3, limbs.2, limbs.1, limbs.0].flatMap { limb in (0..<8).map { UInt8(truncatingIfNeeded: limb >> (56 - 8 * $0)) } }
    }

    /// The number whose product with this one is 1 modulo n; this one is in 1 ..< n.
    ///
    /// Bernstein and Yang, Fast constant-time gcd computation and modular inversion (2019), in variable time: Euclid's algorithm, starting at
    /// the least significant bit. The effect of 62 steps depends only on the last 62 bits of the two numbers, so the long numbers are updated
    /// once per 62 steps.
    var inverse: Scalar256 {
        // Invariant: d · self = f and e · self = g modulo n; f is odd, and gcd(f, g) is 1.
        var (d, e) = (SignedDigits.zero, SignedDigits.one)
        var (f, g) = (Self.order, digits)
        var eta = -1
        while g != .zero {
            let steps = DivisionSteps(of: f.a, g.a, eta: &eta)
            (d, e) = (
                Self.divided(d, steps.rowF.f, e, steps.rowF.g), Self.divided(d, steps.rowG.f, e, steps.rowG.g)
            )
            (f, g) = (
                SignedDigits(f, times: steps.rowF.f, plus: g, times: steps.rowF.g),
                SignedDigits(f, times: steps.rowG.f, plus: g, times: steps.rowG.g)
            )
        }
        // f is 1 or -1, and d in -2n ..< n.
        if f.isNegative { d = SignedDigits(d, times: -(1 << 62), plus: .zero, times: 0) }
        while d.isNegative { d = d.adding(Self.order) }
        while true {
            let less = d.adding(Self.order, times: -1)
            if less.isNegative { return Scalar256(d) }
            d = less
        }
    }

    /// (x · u + y · v) / 2^62 modulo n. For x and y in -2n ..< n and |u| + |v| at most 2^62, the result is in -2n ..< n.
    private static func divided(_ x: SignedDigits, _ u: Int64, _ y: SignedDigits, _ v: Int64) -> SignedDigits {
        // Adds n once for each negative number, and a multiple of n that makes the sum divisible by 2^62.
        let raised = (x.isNegative ? u : 0) + (y.isNegative ? v : 0)
        let last = UInt64(bitPattern: x.a &* u &+ y.a &* v)
        let excess = (inverseOfOrder &* last &+ UInt64(bitPattern: raised)) & SignedDigits.mask
        return SignedDigits(x, times: u, plus: y, times: v, order, times: raised - Int64(excess))
    }
}
