//! Which module of `src` uses which, read from the sources.
//!
//! A module is a file. It uses another one if its code names something that is defined there: by `use`, or by a path in
//! an expression, a type or a pattern. `pub use` is no use by itself: it gives a name another home, and whoever takes the
//! name from there uses the module that defines it. What is compiled for tests only does not count, and
//! neither do comments.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A module by its path from the root of the crate, which is the empty path.
pub type Module = Vec<String>;

/// Uses between modules.
pub struct Modules {
    /// For every module, those that it uses.
    pub uses: BTreeMap<Module, BTreeSet<Module>>,
}

/// A module as people write it.
pub fn name(module: &[String]) -> String {
    module.join("::")
}

/// What one file says.
#[derive(Default)]
struct Unit {
    /// Names that `use` brings in, with the paths they stand for.
    names: BTreeMap<String, Module>,
    /// Those of them that others may take from here.
    exported: BTreeSet<String>,
    /// Paths that are used.
    paths: Vec<Module>,
}

impl Modules {
    /// Reads all modules of a crate from its root file.
    pub fn read(root: &Path) -> Self {
        let mut units: BTreeMap<Module, Unit> = BTreeMap::new();
        let mut open: Vec<(Module, PathBuf)> = vec![(Vec::new(), root.to_owned())];
        while let Some((module, file)) = open.pop() {
            let text =
                fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let tree = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let directory = match file.file_name().and_then(|name| name.to_str()) {
                Some("lib.rs" | "mod.rs") => file.parent().expect("a directory").to_owned(),
                _ => file.with_extension(""),
            };
            for item in &tree.items {
                let Item::Mod(child) = item else { continue };
                if child.content.is_some() || is_for_tests(&child.attrs) {
                    continue;
                }
                let name = child.ident.to_string();
                let path = [directory.join(format!("{name}.rs")), directory.join(&name).join("mod.rs")];
                let path = path.into_iter().find(|path| path.is_file()).expect("a file for every module");
                open.push((extended(&module, &name), path));
            }
            let mut reader = Reader { module: &module, unit: Unit::default() };
            reader.visit_file(&tree);
            let unit = reader.unit;
            units.insert(module, unit);
        }
        let mut uses = BTreeMap::new();
        for (module, unit) in &units {
            let mut used = BTreeSet::new();
            for path in &unit.paths {
                if let Some(home) = home(&units, module, path)
                    && home != *module
                    && !home.is_empty()
                {
                    used.insert(home);
                }
            }
            uses.insert(module.clone(), used);
        }
        Self { uses }
    }

    /// What some modules reach, directly or through others, themselves included.
    pub fn reach(&self, from: impl Fn(&[String]) -> bool) -> BTreeMap<Module, Module> {
        let mut open: Vec<(Module, Module)> =
            self.uses.keys().filter(|module| from(module)).map(|m| (m.clone(), m.clone())).collect();
        let mut reached = BTreeMap::new();
        while let Some((module, by)) = open.pop() {
            if reached.contains_key(&module) {
                continue;
            }
            open.extend(self.uses[&module].iter().map(|used| (used.clone(), module.clone())));
            reached.insert(module, by);
        }
        reached
    }

    /// Groups of the rooms below a module that use each other in a circle.
    pub fn circles(&self, below: &[String]) -> Vec<BTreeSet<String>> {
        let room = |module: &Module| -> Option<String> {
            module.strip_prefix(below).and_then(|rest| rest.first()).cloned()
        };
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, used) in &self.uses {
            let Some(from) = room(module) else { continue };
            let to = used.iter().filter_map(room).filter(|to| *to != from);
            edges.entry(from.clone()).or_default().extend(to);
        }
        let reach = |start: &String| {
            let mut seen = BTreeSet::new();
            let mut open: Vec<&String> = edges[start].iter().collect();
            while let Some(room) = open.pop() {
                if seen.insert(room.clone()) {
                    open.extend(edges.get(room).into_iter().flatten());
                }
            }
            seen
        };
        let all: BTreeMap<&String, BTreeSet<String>> = edges.keys().map(|room| (room, reach(room))).collect();
        let mut circles: Vec<BTreeSet<String>> = Vec::new();
        for (room, reached) in &all {
            if reached.contains(*room) && !circles.iter().any(|circle| circle.contains(*room)) {
                let together = |other: &&String| all.get(other).is_some_and(|back| back.contains(*room));
                circles.push(reached.iter().filter(together).cloned().collect());
            }
        }
        circles
    }
}

fn extended(module: &[String], name: &str) -> Module {
    let mut path = module.to_vec();
    path.push(name.to_owned());
    path
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return attribute.path().is_ident("test") };
        list.path.is_ident("cfg") && list.tokens.to_string() == "test"
    };
    attributes.iter().any(is_test)
}

/// The module that defines what a path, as it is written in a module, names. None for other crates.
fn home(units: &BTreeMap<Module, Unit>, module: &Module, path: &[String]) -> Option<Module> {
    let mut path = path.to_vec();
    let mut module = module.clone();
    let mut at: Module;
    // Every turn goes on from a re-export; a circle of them does not compile.
    for _ in 0..100 {
        let first = path.first()?.clone();
        // A module and a function may have one name; what is followed by `::` is the module.
        let is_child = path.len() > 1 && units.contains_key(&extended(&module, &first));
        if first == "crate" {
            at = Vec::new();
            path.remove(0);
        } else if is_child {
            at = module.clone();
        } else if let Some(full) = units.get(&module).and_then(|unit| unit.names.get(&first)) {
            let is_other_crate = full[0] == first && !units.contains_key(&extended(&module, &first));
            if is_other_crate {
                return None;
            }
            path.splice(..1, full.iter().cloned());
            continue;
        } else {
            return None;
        }
        let mut rest = path.iter();
        let mut export = None;
        while let Some(name) = rest.next() {
            let below = extended(&at, name);
            let unit = units.get(&at)?;
            if units.contains_key(&below) {
                at = below;
            } else if unit.exported.contains(name) {
                export = Some(unit.names[name].iter().chain(rest).cloned().collect::<Module>());
                break;
            } else {
                break;
            }
        }
        let Some(export) = export else { return Some(at) };
        (module, path) = (at, export);
    }
    panic!("a path in {} goes round in circles", name(&module))
}

struct Reader<'a> {
    module: &'a Module,
    unit: Unit,
}

impl Reader<'_> {
    /// A path with `self` and `super` replaced. A child module stands for itself.
    fn absolute(&self, path: &[String]) -> Module {
        let mut full: Module =
            std::iter::once("crate".to_owned()).chain(self.module.iter().cloned()).collect();
        let mut rest = path;
        match rest.first().map(String::as_str) {
            Some("self") => rest = &rest[1..],
            Some("super") => {
                while rest.first().is_some_and(|first| first == "super") {
                    full.pop();
                    rest = &rest[1..];
                }
            }
            _ => return path.to_vec(),
        }
        full.extend(rest.iter().cloned());
        full
    }

    fn use_tree(&mut self, tree: &UseTree, before: &[String], exports: bool) {
        let bring = |reader: &mut Self, name: String, path: &[String]| {
            let path = reader.absolute(path);
            if exports {
                reader.unit.exported.insert(name.clone());
            } else {
                reader.unit.paths.push(path.clone());
            }
            if path.len() > 1 || name != path[0] {
                reader.unit.names.insert(name, path);
            }
        };
        match tree {
            UseTree::Path(path) => {
                self.use_tree(&path.tree, &extended(before, &path.ident.to_string()), exports);
            }
            UseTree::Name(name) if name.ident == "self" => {
                bring(self, before.last().expect("a name").clone(), before);
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                bring(self, name.clone(), &extended(before, &name));
            }
            UseTree::Rename(rename) => {
                bring(self, rename.rename.to_string(), &extended(before, &rename.ident.to_string()));
            }
            UseTree::Glob(_) => {
                assert!(!exports, "a glob re-export in {} hides where names come from", name(self.module));
                let path = self.absolute(before);
                self.unit.paths.push(path);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.use_tree(item, before, exports));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            _ => &[][..],
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let exports = !matches!(item.vis, Visibility::Inherited);
        self.use_tree(&item.tree, &[], exports);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let full = self.absolute(&segments);
        self.unit.paths.push(full);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // What a macro makes of its input is unknown; whatever looks like a path counts as one.
        let text = call.tokens.to_string().replace("::", " :: ");
        let words: Vec<&str> = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let mut i = 0;
        while i < words.len() {
            let mut path = vec![words[i].to_owned()];
            while i + 2 < words.len() && words[i + 1] == "::" {
                path.push(words[i + 2].to_owned());
                i += 2;
            }
            if path.len() > 1 {
                let full = self.absolute(&path);
                self.unit.paths.push(full);
            }
            i += 1;
        }
        visit::visit_macro(self, call);
    }
}
