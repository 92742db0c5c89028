# Ways to have git run a program outside that a command in the sandbox planted: one below each `## name`.
# "$EVIL" is what must not run; all begin with these functions, in a repository with one commit on main.
git() { command git -c user.name=a -c user.email=b@c -c protocol.file.allow=always "$@"; }
hook() { mkdir -p "$1"; printf '#!/bin/sh\n%s\n' "$EVIL" >"$1/$2"; chmod +x "$1/$2"; }
evil_repository() { git init -q -b main "$1"; git -C "$1" config core.fsmonitor "$EVIL"; }
free() { git init -q --bare -b main free; git config -f free/config core.fsmonitor "$EVIL"; git config -f free/config core.bare false; }
with_commit() { git init -q -b main "$1"; git -C "$1" commit -qm one --allow-empty; }
conflict() {
  git checkout -q -b side; echo 2 >a.txt; git commit -qam side; git checkout -q main; echo 3 >a.txt
  git commit -qam three; echo b >b.txt; git add b.txt; git commit -qm four
  git rebase side || true
  git checkout -q --theirs a.txt; git add a.txt
}

## commondir
free; echo ../free >.git/commondir
## config.worktree
git config -f .git/config.worktree core.fsmonitor "$EVIL"
## a .git file
mkdir sub; free; echo 'gitdir: ../free' >sub/.git
## a .git link
mkdir sub; free; ln -s ../free sub/.git
## a new .git
evil_repository sub
## a new .git with hooks
git init -q -b main sub; hook sub/.git/hooks post-checkout; hook sub/.git/hooks pre-commit
## a nested repository and a gitlink
evil_repository sub; git -C sub commit -qm x --allow-empty; git add sub
## a moved nested repository
evil_repository sub; mv sub other
## a copied nested repository
evil_repository sub; cp -r sub other
## below build
mkdir build; evil_repository build/sub
## below node_modules
mkdir node_modules; evil_repository node_modules/sub
## four folders deep
mkdir -p a/b/c/d; evil_repository a/b/c/d/sub
## an exec in a todo
conflict; echo "exec $EVIL" >>.git/rebase-merge/git-rebase-todo
## an included file
git init -q -b main sub; git config -f sub/.git/config include.path ../more.inc
git config -f sub/more.inc core.fsmonitor "$EVIL"
## core.hooksPath
git init -q -b main sub; git config -f sub/.git/config core.hooksPath ../hooks
hook hooks pre-commit; hook hooks post-checkout
## core.pager in capitals
with_commit sub; printf '[CORE]Pager = "%s"\n' "$EVIL" >>sub/.git/config
## a quoted and continued value
git init -q sub; printf '[core]\n\tfsmonitor = "tou\\\n%s"\n' 'ch ../../ran; #' >>sub/.git/config
## an alias
git init -q sub; git -C sub config alias.st "!$EVIL"
## an alias with a setting
git init -q sub; hook . e; git -C sub config alias.st '-c core.fsmonitor=../e status'
## an alias that runs a program on commits
git init -q sub; git -C sub commit -qm x --allow-empty
git -C sub config alias.st "filter-branch -f --msg-filter \"$EVIL\""
## an alias that sets a setting
git init -q sub; git -C sub config alias.st "config core.fsmonitor \"$EVIL\""
## a bare repository
free; git -C free config core.bare true; git -C free config alias.st "!$EVIL"
## textconv
git init -q -b main sub; git -C sub config diff.x.textconv "$EVIL"; echo '*.txt diff=x' >sub/.gitattributes
cd sub; echo 1 >a.txt; git add -A; git commit -qm one; echo 2 >a.txt
## diff.external
git init -q -b main sub; git -C sub config diff.external "$EVIL"
cd sub; echo 1 >a.txt; git add -A; git commit -qm one; echo 2 >a.txt
## a filter
git init -q -b main sub; git -C sub config filter.x.clean "$EVIL"; echo '*.txt filter=x' >sub/.gitattributes
echo 1 >sub/a.txt
## a merge driver
git init -q -b main sub; cd sub; echo '*.txt merge=x' >.gitattributes; echo 1 >a.txt; git add -A; git commit -qm one
git checkout -qb side; echo 2 >a.txt; git commit -qam two; git checkout -q main; echo 3 >a.txt; git commit -qam three
git config merge.x.driver "$EVIL"; git config alias.st 'merge side'
## an editor
git init -q -b main sub; git -C sub config core.editor "$EVIL"
## a signing program
hook . e; git init -q -b main sub; git -C sub config gpg.program ../e; git -C sub config commit.gpgSign true
## a remote's uploadpack
git init -q -b main sub; git -C sub remote add origin ../; git -C sub config remote.origin.uploadpack "$EVIL"
## a remote helper
hook . e; git init -q -b main sub; git -C sub remote add origin "ext::$PWD/e"
git -C sub config protocol.ext.allow always
## an address that is another one
hook . e; git init -q -b main sub; git -C sub remote add origin https://example.org/x
git -C sub config protocol.ext.allow always; git -C sub config "url.ext::$PWD/e .insteadOf" https://example.org/
## a submodule's own configuration
with_commit lib; git submodule --quiet add "file://$PWD/lib" sub; git -C sub config core.fsmonitor "$EVIL"
## a linked work tree
git worktree add -q tree; free; echo ../../../free >.git/worktrees/tree/commondir
## a submodule that is none
git init -q -b main sub; mkdir -p sub/.git/modules sub/x; evil_repository sub/.git/modules/x
echo 'gitdir: ../.git/modules/x/.git' >sub/x/.git
## a link to hooks
hook free pre-commit; git init -q -b main sub; rm -rf sub/.git/hooks; ln -s ../../free sub/.git/hooks
## a link as configuration
git init -q -b main sub; mv sub/.git/config sub/free; git config -f sub/free core.fsmonitor "$EVIL"
ln -s ../free sub/.git/config
## a merge strategy that is a path
conflict; hook git-merge-a evil; echo a/evil >.git/rebase-merge/strategy
