/// The kind of an element with content: call it to make one.
package struct Element: Sendable {
    private let name: StaticString

    fileprivate init(_ name: StaticString) {
        self.name = name
    }

    package func callAsFunction(_ attributes: Attribute..., @MarkupBuilder content: () -> Markup) -> Markup {
        Markup([.element(name, attributes, content: content())])
    }

    /// An element whose attributes are computed.
    package func callAsFunction(_ attributes: [Attribute], @MarkupBuilder content: () -> Markup) -> Markup {
        Markup([.element(name, attributes, content: content())])
    }

    /// An element without content.
    package func callAsFunction(_ attributes: Attribute...) -> Markup {
        Markup([.element(name, attributes, content: .empty)])
    }
}

/// The kind of an element that cannot have content.
package struct VoidElement: Sendable {
    private let name: StaticString

    fileprivate init(_ name: StaticString) {
        self.name = name
    }

    package func callAsFunction(_ attributes: Attribute...) -> Markup {
        Markup([.element(name, attributes, content: nil)])
    }

    /// An element whose attributes are computed.
    package func callAsFunction(_ attributes: [Attribute]) -> Markup {
        Markup([.element(name, attributes, content: nil)])
    }
}

package let html = Element("html")
package let head = Element("head")
package let body = Element("body")
package let titleElement = Element("title")
package let div = Element("div")
package let span = Element("span")
package let p = Element("p")
package let h1 = Element("h1")
package let h2 = Element("h2")
package let strong = Element("strong")
package let small = Element("small")
package let code = Element("code")
package let pre = Element("pre")
package let bdi = Element("bdi")
package let ul = Element("ul")
package let li = Element("li")
package let dl = Element("dl")
package let dt = Element("dt")
package let dd = Element("dd")
package let table = Element("table")
package let caption = Element("caption")
package let thead = Element("thead")
package let tbody = Element("tbody")
package let tr = Element("tr")
package let th = Element("th")
package let td = Element("td")
package let section = Element("section")
package let header = Element("header")
package let footer = Element("footer")
package let nav = Element("nav")
package let main = Element("main")
package let form = Element("form")
package let label = Element("label")
package let button = Element("button")
package let select = Element("select")
package let option = Element("option")
package let datalist = Element("datalist")
package let fieldset = Element("fieldset")
package let legend = Element("legend")
package let details = Element("details")
package let summary = Element("summary")
package let a = Element("a")
package let time = Element("time")
package let svg = Element("svg")
package let polyline = Element("polyline")
package let line = Element("line")
package let svgTitle = Element("title")
package let meta = VoidElement("meta")
package let link = VoidElement("link")
package let input = VoidElement("input")

/// A script from a file, the only kind there is.
package func scriptFile(_ url: ConsoleURL) -> Markup { Element("script")(.src(url), .defer) }
