/// A number of up to 310 bits: five digits of 62 bits, least significant first; the last one is signed.
struct SignedDigits: Hashable, Sendable {
    private(set) var a, b, c, d, e: Int64

    static let zero = SignedDigits(0, 0, 0, 0, 0)
    static let one = SignedDigits(1, 0, 0, 0, 0)
    static let mask: UInt64 = 1 << 62 - 1

    init(_ a: Int64, _ b: Int64, _ c: Int64, _ d: Int64, _ e: Int64) {
        (self.a, self.b, self.c, self.d, self.e) = (a, b, c, d, e)
    }

    /// From four limbs of 64 bits, least significant first.
    init(_ limbs: (UInt64, UInt64, UInt64, UInt64)) {
        func digit(_ bits: UInt64) -> Int64 { Int64(bits & Self.mask) }
        self.init(
            digit(limbs.0),
            digit(limbs.0 >> 62 | limbs.1 << 2),
            digit(limbs.1 >> 60 | limbs.2 << 4),
            digit(limbs.2 >> 58 | limbs.3 << 6),
            digit(limbs.3 >> 56)
        )
    }

    /// Four limbs of 64 bits, least significant first, of a number in 0 ..< 2^256.
    var limbs: (UInt64, UInt64, UInt64, UInt64) {
        let (a, b, c, d, e) = (UInt64(a), UInt64(b), UInt64(c), UInt64(d), UInt64(e))
        return (a | b << 62, b >> 2 | c << 60, c >> 4 | d << 58, d >> 6 | e << 56)
    }

    var isNegative: Bool { e < 0 }

    /// (x · u + y · v + z · w) / 2^62, a division without remainder.
    @inline(__always)
    init(
        _ x: SignedDigits,
        times u: Int64,
        plus y: SignedDigits,
        times v: Int64,
        _ z: SignedDigits = .zero,
        times w: Int64 = 0
    ) {
        var sum: Int128 = 0
        func add(_ x: Int64, _ y: Int64, _ z: Int64) {
            sum = sum &+ Int128(x) &* Int128(u) &+ Int128(y) &* Int128(v) &+ Int128(z) &* Int128(w)
        }
        func digit() -> Int64 {
            defer { sum >>= 62 }
            return Int64(truncatingIfNeeded: sum) & Int64(Self.mask)
        }
        add(x.a, y.a, z.a)
        _ = digit()
        add(x.b, y.b, z.b)
        a = digit()
        add(x.c, y.c, z.c)
        b = digit()
        add(x.d, y.d, z.d)
        c = digit()
        add(x.e, y.e, z.e)
        d = digit()
        e = Int64(truncatingIfNeeded: sum)
    }

    /// This number plus `count` times `other`.
    func adding(_ other: SignedDigits, times count: Int64 = 1) -> SignedDigits {
        var sum = self
        sum.a += other.a * count
        sum.b += other.b * count + sum.a >> 62
        sum.c += other.c * count + sum.b >> 62
        sum.d += other.d * count + sum.c >> 62
        sum.e += other.e * count + sum.d >> 62
        let mask = Int64(Self.mask)
        (sum.a, sum.b, sum.c, sum.d) = (sum.a & mask, sum.b & mask, sum.c & mask, sum.d & mask)
        return sum
    }
}
